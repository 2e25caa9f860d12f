import { canonicalJson } from "../../../src/domain/canonical-json.js";
import type { CommandEvidenceWire } from "../api/wire.js";

/** What this browser has found out of one record by itself. */
export interface RecordVerdict {
  readonly seq: number;
  /** Whether its hash is the SHA-256 of what it says. */
  readonly isWhole: boolean;
  /** Whether it names the hash of the record before it; null where that one is another command's and not shown. */
  readonly isBound: boolean | null;
  /** `signed`: by a given key. `unsigned`: no checkpoint covers it yet. `unchecked`: no key was given. */
  readonly seal: "signed" | "unsigned" | "unchecked" | "broken" | "other_key";
}

/** A key to verify checkpoints with, and its id. */
export interface EvidenceKey {
  readonly key: CryptoKey;
  readonly id: string;
}

/** Reads a public key as `bailiff audit public-key` prints it. Rejects for anything else. */
export async function readEvidenceKey(pem: string): Promise<EvidenceKey> {
  const [, base64] =
    /^-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(pem.trim()) ?? [];
  if (base64 === undefined) throw new Error("not a public key");
  const spki = Uint8Array.from(atob(base64.replaceAll(/\s/g, "")), (character) => character.charCodeAt(0));
  const key = await crypto.subtle.importKey("spki", spki, { name: "Ed25519" }, false, ["verify"]);
  return { key, id: hex(await crypto.subtle.digest("SHA-256", spki)) };
}

/** Verifies the records of one command: each hash, each link between neighbours, and each seal where a key was given. */
export async function verifyRecords(
  evidence: CommandEvidenceWire,
  evidenceKey: EvidenceKey | null,
): Promise<readonly RecordVerdict[]> {
  const verdicts: RecordVerdict[] = [];
  let before: { readonly seq: number; readonly hash: string } | null = null;
  for (const { record, hash, sealed_by } of evidence.records) {
    const isWhole = (await sha256(canonicalJson(record))) === hash;
    const isNeighbour: boolean = before !== null && before.seq + 1 === record.seq;
    const isBound = isNeighbour ? record.prev_hash === before?.hash : null;
    verdicts.push({
      seq: record.seq,
      isWhole,
      isBound: before !== null && record.seq <= before.seq ? false : isBound,
      seal: await judgeSeal(record, hash, sealed_by, evidenceKey),
    });
    before = { seq: record.seq, hash };
  }
  return verdicts;
}

type Entry = CommandEvidenceWire["records"][number];

async function judgeSeal(
  record: Entry["record"],
  hash: string,
  seal: Entry["sealed_by"],
  evidenceKey: EvidenceKey | null,
): Promise<RecordVerdict["seal"]> {
  if (seal === null) return "unsigned";
  const { checkpoint, signature } = seal;
  if (checkpoint.tenant !== record.tenant || checkpoint.seq < record.seq) return "broken";
  // The checkpoint signs the hash of its own record; of an earlier one it signs what the chain leads to.
  if (checkpoint.seq === record.seq && checkpoint.hash !== hash) return "broken";
  if (evidenceKey === null) return "unchecked";
  if (checkpoint.key_id !== evidenceKey.id) return "other_key";
  if (!/^[0-9a-f]{128}$/.test(signature)) return "broken";
  const bytes = Uint8Array.from(signature.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const isSigned = await crypto.subtle.verify(
    "Ed25519",
    evidenceKey.key,
    bytes,
    new TextEncoder().encode(canonicalJson(checkpoint)),
  );
  return isSigned ? "signed" : "broken";
}

async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function hex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
