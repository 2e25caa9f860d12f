import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, NotCanonical } from "../../../src/domain/canonical-json.js";

const json = fc.jsonValue({ maxDepth: 5, stringUnit: "binary" });

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reordered(member)]),
  );
}

/** Own `__proto__` keys get lost in the copies that this test makes. */
const copyable = json.filter((value) => !JSON.stringify(value).includes("__proto__"));

describe("canonicalJson", () => {
  it("is JSON of an equal value", () => {
    fc.assert(
      fc.property(copyable, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("does not depend on the order of keys", () => {
    fc.assert(fc.property(copyable, (value) => canonicalJson(reordered(value)) === canonicalJson(value)));
  });

  it("is stable under parse and print", () => {
    fc.assert(
      fc.property(
        copyable,
        (value) => canonicalJson(JSON.parse(canonicalJson(value))) === canonicalJson(value),
      ),
    );
  });

  it("has one text for equal values only", () => {
    fc.assert(
      fc.property(copyable, copyable, (a, b) => {
        const same = JSON.stringify(reordered(reordered(a))) === JSON.stringify(b);
        if (same) expect(canonicalJson(a)).toBe(canonicalJson(b));
        else if (canonicalJson(a) === canonicalJson(b))
          expect(JSON.parse(canonicalJson(a))).toEqual(JSON.parse(canonicalJson(b)));
      }),
    );
  });

  it("sorts by UTF-16 code units and prints as RFC 8785 shows", () => {
    expect(
      canonicalJson({ "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 }),
    ).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}');
    expect(canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 10.0])).toBe(
      "[333333333.3333333,1e+30,4.5,0.002,1e-27,0,10]",
    );
  });

  it.each([
    ["undefined", undefined],
    ["an undefined member", { a: undefined }],
    ["a hole", Object.assign([1], { length: 2 })],
    ["NaN", Number.NaN],
    ["an infinity", [Number.POSITIVE_INFINITY]],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a lone surrogate", "\ud800"],
    ["a lone surrogate in a key", { "\udc00": 1 }],
  ])("refuses %s", (_name, value) => {
    expect(() => canonicalJson(value)).toThrow(NotCanonical);
  });

  it("refuses a value that contains itself", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(() => canonicalJson(loop)).toThrow(NotCanonical);
  });
});
