import type { SignedCheckpoint } from "../domain/evidence/checkpoint.js";
import type { EvidenceEvent } from "../domain/evidence/evidence-of.js";
import type { ChainedRecord, ChainHead } from "../domain/evidence/evidence-record.js";

/** An event that is still to become a record. */
export interface OwedEvidence {
  readonly entryId: string;
  readonly tenant: string;
  /** Null where this version can't read the entry, which then stays. */
  readonly event: EvidenceEvent | null;
}

/** The end of a tenant's chain, and how far it is signed and cut. */
export interface EvidenceHead extends ChainHead {
  readonly sealedSeq: number;
  readonly sealedAtMs: number;
  /** The newest cut; null where nothing was cut off. */
  readonly cut: SignedCheckpoint | null;
}

/**
 * Evidence of all tenants: an outbox that the changes of commands fill in the same step, and one chain per tenant that only
 * grows at its end and is only cut at its beginning. Rejects with StoreUnavailable.
 */
export interface EvidenceStore {
  /** The oldest events that have no record yet. */
  owed(limit: number): Promise<readonly OwedEvidence[]>;
  head(tenant: string): Promise<EvidenceHead>;
  /**
   * Appends behind `head` and takes the entries out of the outbox, in one step; false when the chain has another end by now or
   * an entry is not there any more, and then nothing has changed. So no entry becomes two records, whoever tries.
   */
  append(
    tenant: string,
    head: ChainHead,
    records: readonly { readonly entryId: string; readonly chained: ChainedRecord }[],
  ): Promise<boolean>;
  /** False when the chain does not hold that record, or is sealed as far already. */
  seal(checkpoint: SignedCheckpoint): Promise<boolean>;
  /** Removes the records up to the cut, which must be the oldest ones; the cut is kept. */
  cut(checkpoint: SignedCheckpoint, records: readonly ChainedRecord[]): Promise<void>;
  /** Records from a number on, in order. */
  records(tenant: string, fromSeq: number, limit: number): Promise<readonly ChainedRecord[]>;
  /** Seals of records from one number to another, in order. */
  seals(tenant: string, fromSeq: number, toSeq: number): Promise<readonly SignedCheckpoint[]>;
  /** The first seal at or behind a record; null where none covers it yet. */
  sealOf(tenant: string, seq: number): Promise<SignedCheckpoint | null>;
  ofCommand(tenant: string, commandId: string): Promise<readonly ChainedRecord[]>;
  tenants(): Promise<readonly string[]>;
  /** The id of the key that the deployment signs with: this one, if it is the first that is named. */
  signingKeyId(keyId: string): Promise<string>;
  /** Calls back when something may be owed; a hint that can be lost. */
  onOwed(listener: () => void): () => void;
}
