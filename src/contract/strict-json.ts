import { displayKey } from "./display-key.js";

/** A JSON text read strictly, or where and why it was refused. The message never quotes the text, except a duplicate's key. */
export type StrictJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

/** Deeper bodies are refused before anything is built from them. */
export const MAX_JSON_DEPTH = 32;

class Refusal extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * Reads JSON as RFC 8259 has it, and refuses what parsers disagree about: duplicate keys, `__proto__`, deep nesting.
 * The grammar is checked first because the platform's own error would quote the body.
 */
export function readStrictJson(text: string): StrictJson {
  try {
    new Scanner(text).document();
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    if (!(error instanceof Refusal)) return { ok: false, message: "the body is not valid JSON" };
    return {
      ok: false,
      message: `the body is not acceptable JSON at ${position(text, error.offset)}: ${error.message}`,
    };
  }
}

function position(text: string, offset: number): string {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) {
    line += 1;
    lineStart = at + 1;
  }
  return `line ${line}, column ${offset - lineStart + 1}`;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Checks the grammar in one pass; builds nothing but the key sets of the open objects. */
class Scanner {
  readonly text: string;
  at = 0;
  constructor(text: string) {
    this.text = text;
  }

  document(): void {
    this.value(0);
    this.space();
    if (this.at < this.text.length) this.refuse("nothing may follow the value");
  }

  private refuse(message: string, offset = this.at): never {
    throw new Refusal(message, offset);
  }

  private space(): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.at += 1;
    }
  }

  private take(char: string): boolean {
    this.space();
    if (this.text[this.at] !== char) return false;
    this.at += 1;
    return true;
  }

  private value(depth: number): void {
    this.space();
    const first = this.text[this.at];
    if (depth >= MAX_JSON_DEPTH && (first === "{" || first === "["))
      this.refuse(`nested deeper than ${MAX_JSON_DEPTH}`);
    if (first === "{") this.object(depth);
    else if (first === "[") this.array(depth);
    else if (first === '"') this.string();
    else this.scalar();
  }

  private scalar(): void {
    const word = ["true", "false", "null"].find((candidate) => this.text.startsWith(candidate, this.at));
    if (word !== undefined) {
      this.at += word.length;
      return;
    }
    NUMBER.lastIndex = this.at;
    if (!NUMBER.test(this.text)) {
      this.refuse(this.at < this.text.length ? "a value is expected" : "the text ends too early");
    }
    this.at = NUMBER.lastIndex;
  }

  private object(depth: number): void {
    this.at += 1;
    if (this.take("}")) return;
    const keys = new Set<string>();
    do {
      this.space();
      const start = this.at;
      if (this.text[start] !== '"') this.refuse("a key in double quotes is expected");
      this.string();
      const raw = this.text.slice(start, this.at);
      const key = raw.includes("\\") ? String(JSON.parse(raw)) : raw.slice(1, -1);
      if (key === "__proto__") this.refuse("the key __proto__ is not allowed", start);
      if (keys.has(key)) this.refuse(`duplicate key ${displayKey(key)}`, start);
      keys.add(key);
      if (!this.take(":")) this.refuse("':' is expected");
      this.value(depth + 1);
    } while (this.take(","));
    if (!this.take("}")) this.refuse("',' or '}' is expected");
  }

  private array(depth: number): void {
    this.at += 1;
    if (this.take("]")) return;
    do this.value(depth + 1);
    while (this.take(","));
    if (!this.take("]")) this.refuse("',' or ']' is expected");
  }

  private string(): void {
    this.at += 1;
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (Number.isNaN(unit)) this.refuse("the text ends inside a string");
      if (unit === 0x22) {
        this.at += 1;
        return;
      }
      if (unit < 0x20) this.refuse("a control character in a string must be escaped");
      if (unit === 0x5c) {
        ESCAPE.lastIndex = this.at;
        if (!ESCAPE.test(this.text)) this.refuse("not an escape sequence of JSON");
        this.at = ESCAPE.lastIndex;
      } else this.at += 1;
    }
  }
}
