import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import { isId, NAME_PATTERN } from "../../domain/ids.js";
import { SCOPES, type Scope } from "../../ports/authenticator.js";

const SECRET_BYTES = 32;
const KEY_TEXT = /^blf_(key_[0-9a-z]{26})_[A-Za-z0-9_-]{43}$/;

/** A text that can stand in evidence and logs as the name of a caller. */
export const principalSchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 visible ASCII characters without spaces");

/** An API key as the keys file holds it: who it is for, and the hash of its text, never the text. */
export const apiKeyRecordSchema = z.strictObject({
  id: z.string().refine((text) => isId("key", text), "must be a key id"),
  tenant: z.string().regex(NAME_PATTERN, "must be a tenant name"),
  principal: principalSchema,
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hexadecimal digits"),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  disabled: z.boolean(),
});

/** One key of the keys file, in its own names. */
export type ApiKeyRecord = z.infer<typeof apiKeyRecordSchema>;

/** SHA-256 of the whole key text. A fast hash is enough: the text holds 256 random bits that no one can search. */
export function hashKeyText(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}

/** The id inside a text of a key's shape, or null. Says nothing about whether the key is valid. */
export function keyIdOf(text: string): string | null {
  return KEY_TEXT.exec(text)?.[1] ?? null;
}

/** A new key. `text` is shown to its owner once and kept nowhere; `record` goes into the keys file. */
export function createApiKey(wanted: {
  readonly id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly Scope[];
  readonly nowMs: number;
  readonly expiresAtMs: number | null;
}): { text: string; record: ApiKeyRecord } {
  const text = `blf_${wanted.id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  const record = apiKeyRecordSchema.parse({
    id: wanted.id,
    tenant: wanted.tenant,
    principal: wanted.principal,
    scopes: [...new Set(wanted.scopes)],
    sha256: hashKeyText(text).toString("hex"),
    created_at: new Date(wanted.nowMs).toISOString(),
    expires_at: wanted.expiresAtMs === null ? null : new Date(wanted.expiresAtMs).toISOString(),
    disabled: false,
  });
  return { text, record };
}
