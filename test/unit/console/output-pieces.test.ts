import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { outputLines } from "../../../console/src/text/output-pieces.js";

const shown = (output: string) =>
  outputLines(output).map(({ number, pieces }) => `${number} ${pieces.map(({ text }) => text).join("")}`);

describe("output on a screen", () => {
  it("is plain where it is plain, and has the lines it has", () => {
    expect(shown("one\ntwo  2\n\n\u00fc \u4f60\n")).toEqual(["1 one", "2 two  2", "3 ", "4 \u00fc \u4f60"]);
    expect(shown("")).toEqual([]);
    expect(shown("no end")).toEqual(["1 no end"]);
  });

  it("names what controls, hides or reorders, and interprets none of it", () => {
    expect(shown("\u001b[31mred\u0007\rover")).toEqual(["1 [ESC][31mred[BEL][CR]over"]);
    expect(shown("a\u202eb\u200bc\ufeff\u{e0041}\u00a0\u2028")).toEqual([
      "1 a[U+202E]b[U+200B]c[U+FEFF][U+E0041][U+00A0][U+2028]",
    ]);
    expect(shown(`z${"\u0301".repeat(4)}`)).toEqual(["1 z\u0301\u0301[U+0301][U+0301]"]);
  });

  it("counts what would push the rest out of sight, and shows spaces at an end", () => {
    expect(shown(`a${" ".repeat(3_000)}b  `)).toEqual(["1 a[3000 spaces]b\u00b7\u00b7"]);
    expect(shown(`a${"\n".repeat(50)}b`)).toEqual(["1 a", "2 [49 empty lines]", "51 b"]);
  });

  it("holds no character that shows nothing, whatever the output is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (output) => {
        for (const { pieces } of outputLines(output)) {
          for (const { text } of pieces)
            expect(text).not.toMatch(/[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]|(?!\t)\p{Cc}/u);
        }
      }),
    );
  });
});
