import type { SignedCheckpoint } from "../domain/evidence/checkpoint.js";
import type { ChainedRecord, ChainHead } from "../domain/evidence/evidence-record.js";

/** How far a tenant's file goes. */
export interface MirrorTail extends ChainHead {
  /** The newest record with a checkpoint in the file; 0 where there is none. */
  readonly sealedSeq: number;
}

/** Append-only files of evidence, one per tenant, outside the store. */
export interface EvidenceMirror {
  /** Where the file ends, after a line that a crash has cut off was removed. */
  tail(tenant: string): Promise<MirrorTail>;
  /** Appends in this order and returns once it is on the disk. */
  append(tenant: string, entries: readonly (ChainedRecord | SignedCheckpoint)[]): Promise<void>;
  /** Keeps the file under another name, which is returned, and begins a new one. */
  setAside(tenant: string): Promise<string>;
  close(): Promise<void>;
}
