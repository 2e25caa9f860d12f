import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderArgv } from "../../../../src/domain/rendering/render-argv.js";
import { isSafeCharacter, safeText } from "../../../../src/domain/rendering/safe-text.js";

const TRICKY = fc.constantFrom(
  " ",
  "  ",
  "\t",
  "\n",
  "\r",
  "\u001b[2K",
  "\u0000",
  "\u0085",
  "\u00a0",
  "\u00ad",
  "\u061c",
  "\u115f",
  "\u180e",
  "\u200b",
  "\u200d",
  "\u200e",
  "\u202e",
  "\u2028",
  "\u2060",
  "\u2066",
  "\u2800",
  "\u3000",
  "\u3164",
  "\ufe0f",
  "\ufeff",
  "\uffa0",
  "\uff0f",
  "\ue000",
  "\u{e0041}",
  "\u{e0100}",
  "\u{1f600}",
  "\u0301",
  "а",
  "е",
  "с",
  "ο",
  "һ",
  "ı",
  "ſ",
  "ǃ",
  "∕",
  "⁄",
  "ノ",
  "一",
  "丨",
  "א",
  "ع",
  "é",
  "ß",
  "п",
  "漢",
  "\\",
  '"',
  "\\u0041",
  "...",
  "]",
  ",",
);
const TOKEN = fc
  .array(
    fc.oneof(
      TRICKY,
      fc.string({ unit: "grapheme", maxLength: 6 }),
      fc.string({ unit: "binary", maxLength: 4 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));
const ARGV = fc.array(TOKEN, { maxLength: 6 });

describe("a rendered argv", () => {
  it("has no character that could mislead, and is the argv again when it is read as JSON", () => {
    fc.assert(
      fc.property(ARGV, (argv) => {
        const { text, summary } = renderArgv(argv);
        for (const character of text + summary) expect(isSafeCharacter(character), character).toBe(true);
        expect(JSON.parse(text)).toEqual(argv);
      }),
      { numRuns: 1_000 },
    );
  });

  it("is never the same for two argvs", () => {
    fc.assert(
      fc.property(ARGV, ARGV, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(renderArgv(one).text === renderArgv(other).text).toBe(same);
      }),
      { numRuns: 1_000 },
    );
  });

  it("is whole in its summary, or says there how much is not shown", () => {
    const long = fc.array(fc.oneof(TOKEN, fc.string({ minLength: 150, maxLength: 900 })), { maxLength: 60 });
    fc.assert(
      fc.property(long, (argv) => {
        const { text, summary, elided, tokens } = renderArgv(argv);
        expect(elided).toBe(summary !== text);
        expect(tokens).toBe(argv.length);
        // Outside of quotes no token can write.
        const outside = summary.replace(/"(?:[^"\\]|\\.)*"/g, "");
        expect(/\(\+\d+ (?:characters|tokens) not shown\)/.test(outside)).toBe(elided);
        if (!elided) expect(outside).toMatch(/^\[,*\]$/);
        expect(summary.length).toBeLessThan(32 * 300);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["rm  -rf", "rm\\u0020\\u0020-rf", ["spaces"]],
    [" a b ", "\\u0020a b\\u0020", ["spaces"]],
    ["", "", ["empty"]],
    ["a\nb", "a\\nb", ["control"]],
    ["ab\u202ecd", "ab\\u202ecd", ["bidi"]],
    ["ls\u200b", "ls\\u200b", ["invisible"]],
    ["\u{e0041}", "\\udb40\\udc41", ["invisible"]],
    ["сat", "\\u0441at", ["look_alike"]],
    ["сор", "\\u0441\\u043e\\u0440", ["look_alike"]],
    ["привет мир", "привет мир", []],
    ["漢字", "漢字", []],
    ["café", "café", []],
    ["e\u0301", "e\\u0301", ["combining"]],
    ["\u{1f600}", "\\ud83d\\ude00", ["unusual"]],
    ["／etc", "\\uff0fetc", ["look_alike"]],
    ["שלום", "\\u05e9\\u05dc\\u05d5\\u05dd", ["bidi"]],
  ])("shows %j as it must be read", (token, text, marks) => {
    expect(safeText(token)).toEqual({ text, marks });
  });

  it("counts what it cuts and shows both ends", () => {
    const { summary, notes } = renderArgv(["sh", "-c", `${"a".repeat(1_000)}; rm -rf x`]);
    expect(summary).toContain('"...(+825 characters not shown)..."');
    expect(summary).toMatch(/; rm -rf x"\]$/);
    expect(notes).toEqual([{ index: 2, characters: 1_010, bytes: 1_010, marks: [], cut: true }]);
  });
});
