import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  argvFault,
  MAX_ARGV_BYTES,
  MAX_TOKEN_BYTES,
  MAX_TOKENS,
  utf8Length,
} from "../../../src/domain/argv.js";

const many = (count: number): string[] => Array.from({ length: count }, () => "a");

describe("argvFault", () => {
  test("takes exactly the bounds of tokens and refuses one more (FB-26)", () => {
    expect(argvFault([])?.message).toContain("at least 1 token");
    expect(argvFault(many(1))).toBeNull();
    expect(argvFault(many(MAX_TOKENS))).toBeNull();
    expect(argvFault(many(MAX_TOKENS + 1))?.message).toContain(`at most ${MAX_TOKENS}`);
  });

  test("measures a token in UTF-8 bytes, not characters (FB-26)", () => {
    expect(argvFault(["echo", "a".repeat(MAX_TOKEN_BYTES)])).toBeNull();
    expect(argvFault(["echo", "a".repeat(MAX_TOKEN_BYTES + 1)])).toMatchObject({ tokenIndex: 1 });
    expect(argvFault(["echo", "é".repeat(65_535)])).toBeNull();
    expect(argvFault(["echo", "é".repeat(65_536)])).toMatchObject({ tokenIndex: 1 });
  });

  test("bounds all tokens together", () => {
    const full = Array.from({ length: 8 }, () => "a".repeat(MAX_ARGV_BYTES / 8));
    expect(argvFault(full)?.message).toContain(`at most ${MAX_TOKEN_BYTES}`);
    const fitting = Array.from({ length: 16 }, () => "a".repeat(MAX_ARGV_BYTES / 16));
    expect(argvFault(fitting)).toBeNull();
    expect(argvFault([...fitting, "a"])).toMatchObject({ tokenIndex: null });
  });

  test("refuses NUL, lone surrogates and a blank argv[0] (FB-25)", () => {
    expect(argvFault(["echo", "a\0b"])).toMatchObject({ tokenIndex: 1 });
    expect(argvFault(["ec\0ho"])).toMatchObject({ tokenIndex: 0 });
    expect(argvFault(["echo", "\ud800"])).toMatchObject({ tokenIndex: 1 });
    for (const blank of ["", " ", "\t\n"]) expect(argvFault([blank])).toMatchObject({ tokenIndex: 0 });
    expect(argvFault(["echo", "", " "])).toBeNull();
  });

  test("never quotes the token it refuses", () => {
    expect(argvFault(["echo", `SECRET\0${"x".repeat(10)}`])?.message).not.toContain("SECRET");
  });
});

test("utf8Length is what encoding gives, for every well-formed string", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
    }),
  );
});
