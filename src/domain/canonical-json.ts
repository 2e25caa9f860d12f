/** A value that has no canonical JSON; the message names the place, never the value. */
export class NotCanonical extends Error {
  override readonly name = "NotCanonical";
}

/** Deeper values are refused; also what ends a value that contains itself. */
const MAX_DEPTH = 256;

/**
 * The one JSON text of a value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript
 * prints them. Throws NotCanonical for what JSON can't carry unchanged: undefined (also as a member), NaN, infinities,
 * lone surrogates, sparse arrays, and objects that are not plain.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) throw new NotCanonical(`nested deeper than ${MAX_DEPTH}`);
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return value ? "true" : "false";
    case "number":
      if (!Number.isFinite(value)) throw new NotCanonical("a number is not finite");
      return JSON.stringify(value);
    case "string":
      return writeString(value);
    case "object":
      return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth);
    default:
      throw new NotCanonical(`${typeof value} has no JSON`);
  }
}

function writeString(text: string): string {
  if (!text.isWellFormed()) throw new NotCanonical("a string has a lone surrogate");
  return JSON.stringify(text);
}

function writeArray(items: readonly unknown[], depth: number): string {
  const parts: string[] = [];
  // By index: a hole reads as undefined and is refused.
  for (let i = 0; i < items.length; i += 1) parts.push(write(items[i], depth + 1));
  return `[${parts.join(",")}]`;
}

function writeObject(value: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new NotCanonical("an object is not plain");
  const members = value as Readonly<Record<string, unknown>>;
  const parts = Object.keys(members)
    .sort()
    .map((key) => `${writeString(key)}:${write(members[key], depth + 1)}`);
  return `{${parts.join(",")}}`;
}
