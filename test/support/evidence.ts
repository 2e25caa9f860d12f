import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import type { CommandRecord } from "../../src/domain/command.js";
import { type SignedCheckpoint, signCheckpoint } from "../../src/domain/evidence/checkpoint.js";
import { writeEvidenceLine } from "../../src/domain/evidence/evidence-line.js";
import { evidenceOf, type RecordingTerms } from "../../src/domain/evidence/evidence-of.js";
import {
  type ChainedRecord,
  type ChainHead,
  chainRecord,
  EMPTY_CHAIN,
} from "../../src/domain/evidence/evidence-record.js";
import { DEFAULT_SECRET_OPTIONS } from "../../src/domain/evidence/redact-secrets.js";
import { createEvidenceVerifier, type Verification } from "../../src/domain/evidence/verify-evidence.js";
import { aCompletedResult, aRecord, aSession } from "./redis-fixtures.js";

/** A fresh pair of signing keys. */
export function signingKeys(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const { privateKey } = generateKeyPairSync("ed25519", {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const key = createPrivateKey(privateKey);
  return { privateKey: key, publicKey: createPublicKey(key) };
}

/** Everything recorded that may be. */
export const FULL_TERMS: RecordingTerms = {
  argv: "full",
  output: "hashed",
  secretOptions: DEFAULT_SECRET_OPTIONS,
  hmacKey: new Uint8Array(32),
};

/** A finished command of a tenant. */
export function finishedCommand(tenant: string, given: Partial<CommandRecord> = {}): CommandRecord {
  return aRecord(aSession({ tenant }), {
    state: "finished",
    result: aCompletedResult(),
    finishedAtMs: 1_800_000_000_000,
    ...given,
  });
}

/** A tenant's chain of that many records, from its beginning. */
export function chainOf(tenant: string, count: number): readonly ChainedRecord[] {
  const records: ChainedRecord[] = [];
  let head: ChainHead = EMPTY_CHAIN;
  for (let i = 0; i < count; i += 1) {
    const event = { kind: "finished" as const, atMs: 1_800_000_000_000 + i, approval: null };
    const next = chainRecord(head, evidenceOf({ ...event, record: finishedCommand(tenant) }, FULL_TERMS));
    records.push(next);
    head = { seq: next.record.seq, hash: next.hash };
  }
  return records;
}

/** A signed word on one record. */
export function sealOf(
  privateKey: KeyObject,
  { record, hash }: ChainedRecord,
  kind: "seal" | "cut" = "seal",
): SignedCheckpoint {
  return signCheckpoint(privateKey, kind, record.tenant, { seq: record.seq, hash }, 1_800_000_000_000);
}

/** The lines of a file: the records, and a checkpoint behind each whose number is listed. */
export function linesOf(
  records: readonly ChainedRecord[],
  privateKey: KeyObject,
  sealed: readonly number[],
): string[] {
  return records.flatMap((chained) => [
    writeEvidenceLine(chained),
    ...(sealed.includes(chained.record.seq) ? [writeEvidenceLine(sealOf(privateKey, chained))] : []),
  ]);
}

/** Verifies lines of a tenant, or of whichever the first line is of. */
export function verifyLines(
  lines: Iterable<string>,
  publicKey: KeyObject,
  tenant: string | null = null,
): Verification {
  const verifier = createEvidenceVerifier({ publicKeys: [publicKey], tenant });
  for (const line of lines) verifier.take(line);
  return verifier.end();
}
