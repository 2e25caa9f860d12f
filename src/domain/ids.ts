/** Names that callers choose: tenants, workspaces, profiles, objects. Safe as one path component and as part of a key. */
export const NAME_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** Whether a caller-chosen name is one that Bailiff takes. */
export function isName(text: string): boolean {
  return NAME_PATTERN.test(text);
}

/** Prefixes of generated ids; the rest is 26 characters of Crockford base 32, sortable by time (a ULID in lower case). */
export type IdKind = "cmd" | "ses" | "apr" | "wrk" | "fen" | "key" | "req";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** A ULID in lower case from a time and 10 random bytes, as `cmd_01hq…`. */
export function formatId(kind: IdKind, nowMs: number, random: Uint8Array): string {
  let time = "";
  let rest = nowMs;
  for (let i = 0; i < 10; i += 1) {
    time = (ALPHABET[rest % 32] ?? "0") + time;
    rest = Math.floor(rest / 32);
  }
  let tail = "";
  let bits = 0;
  let held = 0;
  for (const byte of random.subarray(0, 10)) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      tail += ALPHABET[(held >> bits) & 31] ?? "0";
    }
    held &= (1 << bits) - 1;
  }
  return `${kind}_${time}${tail}`;
}

/** Whether text has the shape of a generated id of this kind. */
export function isId(kind: IdKind, text: string): boolean {
  return (
    text.length === kind.length + 27 &&
    text.startsWith(`${kind}_`) &&
    /^[0-9a-hjkmnp-tv-z]+$/.test(text.slice(kind.length + 1))
  );
}
