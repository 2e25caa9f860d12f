import type { KeyObject } from "node:crypto";
import { canonicalJson } from "../canonical-json.js";
import { CHECKPOINT_FORMAT, type Checkpoint, isSignedBy, keyIdOf } from "./checkpoint.js";
import { FIRST_PREV_HASH, RECORD_FORMAT, recordHash } from "./evidence-record.js";

/** Codes of what verification can find; stable. */
export type FindingCode =
  /** Not JSON, not in its canonical spelling, or not a record or checkpoint of a known format. */
  | "line_invalid"
  /** The record is not the one its hash was made of. */
  | "record_edited"
  /** The record is not bound to the one before it: one of the two was replaced. */
  | "chain_broken"
  /** Records between this one and the one before are missing. */
  | "records_missing"
  /** A record that comes again, or too late. */
  | "record_out_of_order"
  | "other_tenant"
  /** Neither record 1 nor behind a signed cut. */
  | "start_missing"
  /** The records end before what a checkpoint has signed. */
  | "end_missing"
  | "signature_invalid"
  /** Signed by a key that was not given. */
  | "key_unknown"
  /** A checkpoint has signed another record under this number. */
  | "checkpoint_contradicts";

/** One thing that is wrong, and where. */
export interface Finding {
  readonly code: FindingCode;
  /** From 1. */
  readonly line: number | null;
  readonly seq: number | null;
  readonly message: string;
}

/** What verification says of a tenant's evidence. */
export interface Verification {
  readonly intact: boolean;
  readonly tenant: string | null;
  readonly records: number;
  readonly firstSeq: number | null;
  readonly lastSeq: number | null;
  readonly checkpoints: number;
  /** Up to here nothing can have been changed without the signing key; 0 where nothing is signed. */
  readonly sealedSeq: number;
  readonly findings: readonly Finding[];
  /** Findings beyond those listed. */
  readonly moreFindings: number;
}

/** Takes a file line by line. */
export interface EvidenceVerifier {
  take(line: string): void;
  end(): Verification;
}

const MAX_FINDINGS = 1_000;
/** The most that a message repeats of a tenant's name. */
const MAX_NAME = 64;
const HASH = /^[0-9a-f]{64}$/;

interface LinkedRecord {
  readonly format: string;
  readonly tenant: string;
  readonly seq: number;
  readonly prev_hash: string;
}

/**
 * Verifies one tenant's evidence with public keys alone. Every edited, dropped, reordered, inserted or replaced record up to
 * `sealedSeq` is found. Behind the last checkpoint an attacker who recomputes every hash is not, nor is a cut-off end: no
 * chain can tell that without a signature that covers it.
 */
export function createEvidenceVerifier(options: {
  readonly publicKeys: readonly KeyObject[];
  /** The tenant it must be of; null takes that of the first line. */
  readonly tenant: string | null;
}): EvidenceVerifier {
  const keys = new Map(options.publicKeys.map((key) => [keyIdOf(key), key]));
  const findings: Finding[] = [];
  const hashes = new Map<number, string>();
  const signed: { readonly checkpoint: Checkpoint; readonly line: number }[] = [];
  let tenant = options.tenant;
  let moreFindings = 0;
  let line = 0;
  let others = 0;
  let firstOther: { readonly line: number; readonly seq: number; readonly tenant: string } | null = null;
  let records = 0;
  let first: (LinkedRecord & { readonly line: number }) | null = null;
  let last: { readonly seq: number; readonly hash: string } | null = null;

  const find = (code: FindingCode, seq: number | null, message: string, at: number | null = line) => {
    if (findings.length < MAX_FINDINGS) findings.push({ code, line: at, seq, message });
    else moreFindings += 1;
  };

  /** Said once, at the first: with the wrong tenant asked for, it would be every line. */
  const findOther = (seq: number, name: string) => {
    others += 1;
    firstOther ??= { line, seq, tenant: name };
  };

  const takeRecord = (hash: string, record: LinkedRecord) => {
    const { seq } = record;
    records += 1;
    tenant ??= record.tenant;
    if (record.tenant !== tenant) return findOther(seq, record.tenant);
    if (recordHash(record) !== hash)
      find("record_edited", seq, "the record is not the one that its hash was made of");
    if (last !== null && seq <= last.seq) {
      find("record_out_of_order", seq, `record ${seq} comes behind record ${last.seq}`);
      // The chain goes on from where it was: one misplaced record is one finding, as far as that can be.
      return;
    }
    if (last === null) first = { ...record, line };
    else if (seq !== last.seq + 1) {
      const range = seq === last.seq + 2 ? `${last.seq + 1}` : `${last.seq + 1} to ${seq - 1}`;
      find("records_missing", seq, `record ${range} is missing`);
    } else if (record.prev_hash !== last.hash) {
      find("chain_broken", seq, `record ${seq} is not bound to the record ${last.seq} that is here`);
    }
    hashes.set(seq, hash);
    last = { seq, hash };
  };

  const takeCheckpoint = (checkpoint: Checkpoint, signature: string) => {
    const { seq, key_id } = checkpoint;
    tenant ??= checkpoint.tenant;
    if (checkpoint.tenant !== tenant) return findOther(seq, checkpoint.tenant);
    const key = keys.get(key_id);
    if (key === undefined) return find("key_unknown", seq, `signed by another key: ${key_id}`);
    if (!isSignedBy(key, { checkpoint, signature }))
      return find("signature_invalid", seq, "the checkpoint's signature is not valid");
    signed.push({ checkpoint, line });
  };

  return {
    take(text) {
      line += 1;
      const entry = readLine(text);
      if (entry === null)
        find("line_invalid", null, "the line is not a record or checkpoint as one is written");
      else if ("record" in entry) takeRecord(entry.hash, entry.record);
      else takeCheckpoint(entry.checkpoint, entry.signature);
    },

    end() {
      const start = first as (LinkedRecord & { readonly line: number }) | null;
      const end = last as { readonly seq: number; readonly hash: string } | null;
      const other = firstOther as { line: number; seq: number; tenant: string } | null;
      if (other !== null) {
        const name = JSON.stringify(other.tenant.slice(0, MAX_NAME));
        const size = others === 1 ? "this line is" : `${others} lines from here on are`;
        find("other_tenant", other.seq, `${size} not of ${tenant}; the first is of ${name}`, other.line);
      }
      if (start !== null) {
        const isCut = signed.some(
          ({ checkpoint: { kind, seq, hash } }) =>
            kind === "cut" && seq === start.seq - 1 && hash === start.prev_hash,
        );
        const isFirst = start.seq === 1 && start.prev_hash === FIRST_PREV_HASH;
        if (!isFirst && !isCut)
          find(
            "start_missing",
            start.seq,
            `the records begin at ${start.seq} and no checkpoint says that the ones before were cut off`,
            start.line,
          );
      }
      let sealedSeq = 0;
      for (const { checkpoint, line: at } of signed) {
        const { seq, hash, kind } = checkpoint;
        const isBefore = start === null ? kind === "cut" : seq < start.seq;
        if (seq === 0 || isBefore) continue;
        const here = hashes.get(seq);
        if (here === hash) sealedSeq = Math.max(sealedSeq, seq);
        else if (end === null || seq > end.seq)
          find("end_missing", seq, `record ${seq} was signed, and the records end at ${end?.seq ?? 0}`, at);
        else if (here !== undefined)
          find("checkpoint_contradicts", seq, `the record ${seq} that was signed is another one`, at);
      }
      return {
        intact: findings.length === 0,
        tenant,
        records,
        firstSeq: start?.seq ?? null,
        lastSeq: end?.seq ?? null,
        checkpoints: signed.length,
        sealedSeq,
        findings,
        moreFindings,
      };
    },
  };
}

type Line =
  | { readonly hash: string; readonly record: LinkedRecord }
  | { readonly checkpoint: Checkpoint; readonly signature: string };

function readLine(text: string): Line | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
    // Also what refuses a second spelling of the same value: every byte of a line counts.
    if (canonicalJson(value) !== text) return null;
  } catch {
    return null;
  }
  if (!isObject(value)) return null;
  const members = Object.keys(value).join();
  if (members === "hash,record") return readRecordLine(value["hash"], value["record"]);
  if (members === "checkpoint,signature") return readCheckpointLine(value["checkpoint"], value["signature"]);
  return null;
}

function readRecordLine(hash: unknown, record: unknown): Line | null {
  if (!isHash(hash) || !isObject(record)) return null;
  const { format, tenant, seq, prev_hash } = record;
  if (format !== RECORD_FORMAT || typeof tenant !== "string" || !isSeq(seq, 1) || !isHash(prev_hash))
    return null;
  return { hash, record: record as unknown as LinkedRecord };
}

function readCheckpointLine(checkpoint: unknown, signature: unknown): Line | null {
  if (typeof signature !== "string" || !isObject(checkpoint)) return null;
  const { format, kind, tenant, seq, hash, key_id } = checkpoint;
  if (format !== CHECKPOINT_FORMAT || (kind !== "seal" && kind !== "cut")) return null;
  if (typeof tenant !== "string" || !isSeq(seq, 0) || !isHash(hash) || !isHash(key_id)) return null;
  return { checkpoint: checkpoint as unknown as Checkpoint, signature };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isHash(value: unknown): value is string {
  return typeof value === "string" && HASH.test(value);
}

function isSeq(value: unknown, from: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= from;
}
