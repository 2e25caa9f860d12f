import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, readStrictJson } from "../../../src/contract/strict-json.js";

function platformTakes(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function refusal(text: string): string {
  const read = readStrictJson(text);
  if (read.ok) throw new Error("was accepted");
  return read.message;
}

describe("readStrictJson", () => {
  it("reads every JSON text as the platform does", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6, stringUnit: "binary" }),
        fc.constantFrom(undefined, 1, "\t"),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          if (text.includes("__proto__")) return;
          expect(readStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
        },
      ),
    );
  });

  it("accepts nothing that the platform refuses, and refuses only what it names", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"b"',
      '"',
      "\\",
      "\\u00e9",
      "1",
      "-",
      "0",
      ".5",
      "e+1",
      "true",
      "null",
      "nul",
      " ",
      "\n",
      "\u0001",
      "é",
      "//",
      "NaN",
    ); // prettier-ignore
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 14 }).map((parts) => parts.join("")),
        (text) => {
          const read = readStrictJson(text);
          const ownRules = !read.ok && /duplicate key|__proto__|nested deeper/.test(read.message);
          expect(read.ok || ownRules).toBe(platformTakes(text) || (ownRules && !read.ok));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("survives any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => typeof readStrictJson(text).ok === "boolean"),
    );
  });

  it("names the position and never quotes the text", () => {
    const message = refusal('{\n  "argv": [s3cret]\n}');
    expect(message).toContain("line 2, column 12");
    expect(message).not.toContain("s3cret");
  });

  it.each([
    ["", "ends too early"],
    ['{"a":1', "',' or '}' is expected"],
    ['{"a"', "':' is expected"],
    ["{a:1}", "a key in double quotes is expected"],
    ['{"a":1,}', "a key in double quotes is expected"],
    ["[1,]", "a value is expected"],
    ["[1 2]", "',' or ']' is expected"],
    ['"a', "the text ends inside a string"],
    ['"a\nb"', "a control character"],
    ['"\\x"', "not an escape sequence"],
    ['"\\u12g4"', "not an escape sequence"],
    ["1 1", "nothing may follow"],
    ["\ufeff{}", "a value is expected"],
    ["NaN", "a value is expected"],
    ["01", "nothing may follow"],
  ])("says what is wrong with %j", (text, part) => {
    expect(refusal(text)).toContain(part);
  });

  it("refuses a duplicate key, also when one spelling is escaped", () => {
    expect(refusal('{"argv":["a"],"argv":["b"]}')).toContain("duplicate key argv");
    expect(refusal('{"argv":1,"\\u0061rgv":2}')).toContain("duplicate key argv");
    expect(readStrictJson('[{"a":1},{"a":2}]').ok).toBe(true);
  });

  it("refuses __proto__ however it is spelled", () => {
    expect(refusal('{"__proto__":{"admin":true}}')).toContain("__proto__");
    expect(refusal('{"a":{"__pro\\u0074o__":1}}')).toContain("__proto__");
  });

  it("takes the depth bound and refuses one more, at any size", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(readStrictJson(nested(MAX_JSON_DEPTH)).ok).toBe(true);
    expect(refusal(nested(MAX_JSON_DEPTH + 1))).toContain("nested deeper");
    expect(refusal('{"a":'.repeat(300_000))).toContain("nested deeper");
  });
});
