import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quotedPieces, quotedTokens } from "../../../console/src/text/quoted-pieces.js";
import { renderArgv } from "../../../src/domain/rendering/render-argv.js";

describe("a rendered argv, taken apart", () => {
  it("tells escapes from text and both from what stands outside of the quotes", () => {
    expect(quotedPieces('["a\\u202eb","\\\\\\""]...(+2 tokens not shown)...')).toEqual([
      { kind: "mark", text: '["' },
      { kind: "text", text: "a" },
      { kind: "escape", text: "\\u202e" },
      { kind: "text", text: "b" },
      { kind: "mark", text: '","' },
      { kind: "escape", text: '\\\\\\"' },
      { kind: "mark", text: '"]...(+2 tokens not shown)...' },
    ]);
  });

  it("is the same text again when joined, and has as many tokens as the argv, whatever is in it", () => {
    const argvs = fc.array(fc.string({ unit: "binary", maxLength: 40 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(argvs, (argv) => {
        const { text } = renderArgv(argv.map((token) => token.toWellFormed()));
        expect(
          quotedPieces(text)
            .map((piece) => piece.text)
            .join(""),
        ).toBe(text);
        const tokens = quotedTokens(text);
        expect(`[${tokens.join(",")}]`).toBe(text);
        expect(tokens.map((token) => JSON.parse(token))).toEqual(argv.map((token) => token.toWellFormed()));
      }),
    );
  });
});
