import { createHash } from "node:crypto";
import { canonicalJson } from "../canonical-json.js";
import type { LayerVerdict } from "../decision/decision.js";
import type { Effect, Outcome } from "../outcome.js";
import type { TruncationLayer } from "../output.js";

/** What a record is about. `denied` and `finished` are final: every command has exactly one of them. */
export const EVIDENCE_KINDS = [
  "admitted",
  "denied",
  "approval_decided",
  "cancel_requested",
  "finished",
] as const;

/** One kind of record. */
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];

/** The format of records this version writes; verification refuses others. */
export const RECORD_FORMAT = "bailiff-evidence/1";

/** `prev_hash` of a tenant's first record. */
export const FIRST_PREV_HASH = "0".repeat(64);

/** What an approval's record says of the decision. */
export interface ApprovalWords {
  readonly decision: string;
  readonly decided_by: string;
  readonly note: string | null;
}

/** One stream as evidence has it; the text itself is never in it. */
export interface StreamEvidence {
  readonly bytes: number;
  readonly sha256: string | null;
  readonly truncated: boolean;
  readonly truncated_by: readonly TruncationLayer[];
  readonly utf8_replaced: boolean;
}

/**
 * What one record says, in the names it is hashed and published under: a record is an artifact, whose text must never change.
 * Times are ISO 8601 by the store's clock.
 */
export interface EvidenceBody {
  readonly format: typeof RECORD_FORMAT;
  readonly kind: EvidenceKind;
  readonly tenant: string;
  readonly time: string;
  readonly command_id: string;
  readonly session_id: string;
  readonly workspace_id: string;
  readonly principal: string;
  readonly request: {
    /** Null where the deployment records argv as a keyed hash only. */
    readonly argv: readonly string[] | null;
    readonly argv_tokens: number;
    /** Indexes of tokens that are not as they were sent. */
    readonly argv_redacted: readonly number[];
    /** HMAC-SHA256 over the canonical JSON of the argv as sent, under a key of the deployment. */
    readonly argv_hmac: string;
    readonly cwd: string;
    readonly timeout_ms: number;
    readonly max_stdout_chars: number;
    readonly max_stderr_chars: number;
    readonly source_objects: readonly string[];
    readonly reason: string | null;
  };
  readonly decision: {
    readonly verdict: string;
    readonly layers: readonly {
      readonly layer: LayerVerdict["layer"];
      readonly verdict: LayerVerdict["verdict"];
      readonly code: string;
      readonly reason: string;
      readonly rule_id: string | null;
      readonly token_index: number | null;
      readonly vector: readonly string[] | null;
    }[];
    readonly inner_vectors: readonly {
      readonly argv: readonly string[] | null;
      readonly via: readonly string[];
      readonly certain: boolean;
    }[];
    readonly git_hardened: boolean;
    readonly granted_vector: number | null;
    readonly bound_files: readonly string[] | null;
  };
  readonly policy_version: string;
  readonly label: {
    readonly sensitivity: string;
    readonly trust: string;
    readonly categories: readonly string[];
  } | null;
  readonly approval_id: string | null;
  readonly approval: ApprovalWords | null;
  readonly profile: string;
  readonly image_digest: string;
  readonly pool: string;
  readonly worker_id: string | null;
  readonly container_id: string | null;
  readonly created_at: string;
  readonly queued_at: string | null;
  readonly dispatched_at: string | null;
  readonly finished_at: string | null;
  readonly result: {
    readonly outcome: Outcome;
    readonly effect: Effect;
    readonly returncode: number | null;
    readonly signal: string | null;
    readonly detail: string | null;
    readonly start_failure: {
      readonly stage: string;
      readonly errno: string;
      readonly message: string;
    } | null;
    readonly stdout: StreamEvidence | null;
    readonly stderr: StreamEvidence | null;
    readonly partial: boolean;
    readonly result_omitted: boolean;
    readonly git_hardened: boolean;
    readonly usage: {
      readonly wall_ms: number;
      readonly cpu_ms: number | null;
      readonly peak_memory_bytes: number | null;
      readonly oom_kills: number | null;
    } | null;
  } | null;
}

/** A record in its place: numbered without gaps within its tenant from 1, and bound to the one before. */
export interface EvidenceRecord extends EvidenceBody {
  readonly seq: number;
  readonly prev_hash: string;
}

/** A record and its hash, which is what the next one is bound to. */
export interface ChainedRecord {
  readonly record: EvidenceRecord;
  readonly hash: string;
}

/** The end of a tenant's chain; `seq` 0 before the first record. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

/** Where a chain begins. */
export const EMPTY_CHAIN: ChainHead = { seq: 0, hash: FIRST_PREV_HASH };

/** SHA-256 of a record's canonical JSON, in lower-case hexadecimal. Throws NotCanonical for what has none. */
export function recordHash(record: object): string {
  return createHash("sha256").update(canonicalJson(record), "utf8").digest("hex");
}

/** Puts a record behind the head of its chain. */
export function chainRecord(head: ChainHead, body: EvidenceBody): ChainedRecord {
  const record: EvidenceRecord = { ...body, seq: head.seq + 1, prev_hash: head.hash };
  return { record, hash: recordHash(record) };
}
