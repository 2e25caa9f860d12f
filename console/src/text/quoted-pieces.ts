/** A run of rendered text: what stands for itself, or what the rendering wrote in another's place. */
export interface QuotedPiece {
  /** `escape` is `\uXXXX` and its short forms; `mark` is what stands outside of the quotes: brackets, commas, counts. */
  readonly kind: "text" | "escape" | "mark";
  readonly text: string;
}

const ESCAPE = /\\(u[0-9a-f]{4}|["\\nrtbf/])/y;

/** Takes a rendered argv, or one rendered token, apart so that escapes can be told from text. Joined, the pieces are the same text again. */
export function quotedPieces(rendered: string): readonly QuotedPiece[] {
  const pieces: QuotedPiece[] = [];
  const add = (kind: QuotedPiece["kind"], text: string) => {
    const last = pieces.at(-1);
    if (last !== undefined && last.kind === kind)
      pieces[pieces.length - 1] = { kind, text: last.text + text };
    else pieces.push({ kind, text });
  };
  let isInside = false;
  let start = 0;
  for (let i = 0; i < rendered.length; ) {
    const character = rendered[i];
    if (character === '"') {
      if (i > start) add(isInside ? "text" : "mark", rendered.slice(start, i));
      add("mark", '"');
      isInside = !isInside;
      i += 1;
      start = i;
      continue;
    }
    ESCAPE.lastIndex = i;
    const found = isInside && character === "\\" ? ESCAPE.exec(rendered)?.[0] : undefined;
    if (found === undefined) {
      i += 1;
      continue;
    }
    if (i > start) add("text", rendered.slice(start, i));
    add("escape", found);
    i += found.length;
    start = i;
  }
  if (start < rendered.length) add(isInside ? "text" : "mark", rendered.slice(start));
  return pieces;
}

/** Takes a rendered argv apart at the commas between its tokens, so that each can have a line of its own. */
export function quotedTokens(rendered: string): readonly string[] {
  const inner = rendered.slice(1, -1);
  const tokens: string[] = [];
  let isInside = false;
  let start = 0;
  for (let i = 0; i < inner.length; i += 1) {
    const character = inner[i];
    if (isInside && character === "\\") i += 1;
    else if (character === '"') isInside = !isInside;
    else if (character === "," && !isInside) {
      tokens.push(inner.slice(start, i));
      start = i + 1;
    }
  }
  if (start < inner.length) tokens.push(inner.slice(start));
  return tokens;
}
