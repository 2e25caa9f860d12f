import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CapturedStream } from "../../../src/domain/output.js";
import { capCodePoints, normalizeStream } from "../../../src/domain/output.js";

const captured = (bytes: Uint8Array, capture = bytes.length): CapturedStream => ({
  bytes: bytes.subarray(0, capture),
  seenBytes: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
});
const utf8 = (text: string) => new TextEncoder().encode(text);
const lots = 1_000_000;

describe("normalizeStream", () => {
  test("gives text back unchanged when nothing cuts it (FB-2)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(normalizeStream(captured(utf8(text)), lots, lots)).toMatchObject({
          text,
          truncated: false,
          truncatedBy: [],
          utf8Replaced: false,
        });
      }),
    );
  });

  test("a capture cut at any byte leaves a prefix of the text and no replacement character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.nat(), (text, at) => {
        const bytes = utf8(text);
        const cut = at % bytes.length;
        const stream = normalizeStream(captured(bytes, cut), lots, lots);
        expect(text.startsWith(stream.text)).toBe(true);
        expect(stream.utf8Replaced).toBe(false);
        expect(stream.truncatedBy).toEqual(["capture_bytes"]);
        expect(cut - utf8(stream.text).length).toBeLessThan(4);
      }),
    );
  });

  test("any bytes become valid JSON text, and replacement is said (FB-4)", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const stream = normalizeStream(captured(bytes), lots, lots);
        expect(stream.text.isWellFormed()).toBe(true);
        expect(JSON.parse(JSON.stringify(stream.text))).toBe(stream.text);
        const isValid = Buffer.compare(Buffer.from(stream.text, "utf8"), bytes) === 0;
        expect(stream.utf8Replaced).toBe(!isValid);
      }),
    );
  });

  test("a replacement character that the program itself wrote is not called replaced", () => {
    expect(normalizeStream(captured(utf8("a\uFFFDb")), lots, lots).utf8Replaced).toBe(false);
  });

  test("each layer that cuts is named, in order", () => {
    const bytes = utf8("x".repeat(100));
    expect(normalizeStream(captured(bytes, 50), 20, 10)).toMatchObject({
      text: "x".repeat(10),
      truncated: true,
      truncatedBy: ["capture_bytes", "service_chars", "request_chars"],
      seenBytes: 100,
    });
    expect(normalizeStream(captured(bytes), 200, 100).truncated).toBe(false);
    expect(normalizeStream(captured(bytes), 200, 99).truncatedBy).toEqual(["request_chars"]);
  });

  test("a cap of 0 returns nothing and says so only where there was output (CF-016)", () => {
    expect(normalizeStream(captured(utf8("x")), lots, 0)).toMatchObject({ text: "", truncated: true });
    expect(normalizeStream(captured(utf8("")), lots, 0)).toMatchObject({ text: "", truncated: false });
  });
});

test("capCodePoints counts code points and never splits a pair", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(40), (text, max) => {
      const points = [...text];
      expect(capCodePoints(text, max)).toEqual({
        text: points.slice(0, max).join(""),
        cut: points.length > max,
      });
    }),
  );
});
