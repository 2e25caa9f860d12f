/** A run of a command's output: what stands for itself, or what shows a reader that something is there. */
export interface OutputPiece {
  readonly kind: "text" | "sign";
  readonly text: string;
}

/** One line of output. */
export interface OutputLine {
  readonly pieces: readonly OutputPiece[];
  /** From 1; of the first line, where this one stands for several. */
  readonly number: number;
}

/** A run of spaces beyond this is counted instead of shown: it would push what follows out of sight. */
const MAX_SPACES = 32;
/** More empty lines than this are counted instead of shown. */
const MAX_EMPTY_LINES = 4;
/** Marks on one letter beyond this draw over the lines around it. */
const MAX_MARKS = 2;

const PLAIN_LINE = /^(?! )[\x20-\x7e]*(?<! )$/;
const SHOWS_NOTHING =
  /^[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800]$/u;
const SPACE = /^\p{Zs}$/u;
const MARK = /^\p{M}$/u;

/**
 * Takes output apart for a screen that interprets none of it. Line ends end lines; every other character that controls, hides or
 * reorders is written out by name, and what would push the rest out of sight is counted.
 */
export function outputLines(output: string): readonly OutputLine[] {
  const lines: OutputLine[] = [];
  const texts = output.split("\n");
  // A line end at the end ends the last line and begins no other.
  if (texts.at(-1) === "") texts.pop();
  for (let i = 0; i < texts.length; ) {
    const text = texts[i] ?? "";
    let times = 1;
    if (text === "") while (texts[i + times] === "") times += 1;
    if (times > MAX_EMPTY_LINES) lines.push({ pieces: [sign(`${times} empty lines`)], number: i + 1 });
    else for (let n = 0; n < times; n += 1) lines.push({ pieces: linePieces(text), number: i + n + 1 });
    i += times;
  }
  return lines;
}

function linePieces(line: string): readonly OutputPiece[] {
  if (line === "") return [];
  if (PLAIN_LINE.test(line) && !line.includes(" ".repeat(MAX_SPACES))) return [{ kind: "text", text: line }];
  const pieces: OutputPiece[] = [];
  const add = (kind: OutputPiece["kind"], text: string) => {
    const last = pieces.at(-1);
    if (last?.kind === kind) pieces[pieces.length - 1] = { kind, text: last.text + text };
    else pieces.push({ kind, text });
  };
  const characters = [...line];
  let marks = 0;
  for (let i = 0; i < characters.length; ) {
    const character = characters[i] ?? "";
    if (character === " ") {
      let end = i;
      while (characters[end] === " ") end += 1;
      const run = end - i;
      if (run > MAX_SPACES) add("sign", `[${run} spaces]`);
      // At the end of a line nobody sees them.
      else
        add(
          end === characters.length ? "sign" : "text",
          (end === characters.length ? "\u00b7" : " ").repeat(run),
        );
      i = end;
      marks = 0;
      continue;
    }
    marks = MARK.test(character) ? marks + 1 : 0;
    if (character === "\t") add("text", "\t");
    else if (SHOWS_NOTHING.test(character) || SPACE.test(character) || marks > MAX_MARKS)
      add("sign", nameOf(character));
    else add("text", character);
    i += 1;
  }
  return pieces;
}

function sign(text: string): OutputPiece {
  return { kind: "sign", text: `[${text}]` };
}

const NAMES: Readonly<Record<string, string>> = {
  "\u001b": "ESC",
  "\r": "CR",
  "\b": "BS",
  "\u0007": "BEL",
  "\0": "NUL",
};

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `[${NAMES[character] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}]`;
}
