import { createHash, createHmac, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { canonicalJson } from "../canonical-json.js";
import type { ChainHead } from "./evidence-record.js";

/** The format of checkpoints this version writes. */
export const CHECKPOINT_FORMAT = "bailiff-checkpoint/1";

/**
 * A signed word on a chain: up to `seq` it is the one that ends in `hash`. A `cut` also says that retention has removed the
 * records up to `seq`, so that what follows is a beginning.
 */
export interface Checkpoint {
  readonly format: typeof CHECKPOINT_FORMAT;
  readonly kind: "seal" | "cut";
  readonly tenant: string;
  readonly seq: number;
  readonly hash: string;
  readonly time: string;
  /** SHA-256 of the public key's SPKI form. */
  readonly key_id: string;
}

/** A checkpoint and its Ed25519 signature over its canonical JSON, in lower-case hexadecimal. */
export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly signature: string;
}

/** What names a public key; of a private key, its public half. */
export function keyIdOf(key: KeyObject): string {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex");
}

/** Signs the end of a chain. */
export function signCheckpoint(
  privateKey: KeyObject,
  kind: Checkpoint["kind"],
  tenant: string,
  head: ChainHead,
  nowMs: number,
): SignedCheckpoint {
  const checkpoint: Checkpoint = {
    format: CHECKPOINT_FORMAT,
    kind,
    tenant,
    seq: head.seq,
    hash: head.hash,
    time: new Date(nowMs).toISOString(),
    key_id: keyIdOf(privateKey),
  };
  return { checkpoint, signature: sign(null, bytesOf(checkpoint), privateKey).toString("hex") };
}

/** Whether the signature is this key's. */
export function isSignedBy(publicKey: KeyObject, { checkpoint, signature }: SignedCheckpoint): boolean {
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  return verify(null, bytesOf(checkpoint), publicKey, Buffer.from(signature, "hex"));
}

/** The key of keyed hashes: derived from the signing key, so that a deployment has one secret to keep and not two. */
export function recordingKey(privateKey: KeyObject): Uint8Array {
  return createHmac("sha256", privateKey.export({ type: "pkcs8", format: "der" }))
    .update("bailiff evidence argv v1")
    .digest();
}

function bytesOf(checkpoint: Checkpoint): Buffer {
  return Buffer.from(canonicalJson(checkpoint), "utf8");
}
