import { utf8Length } from "../argv.js";
import { safeText, type TextMark } from "./safe-text.js";

/** A token that a reader has to look at closely. */
export interface TokenNote {
  readonly index: number;
  readonly characters: number;
  readonly bytes: number;
  readonly marks: readonly TextMark[];
  /** Whether the summary shows it cut. */
  readonly cut: boolean;
}

/** An argv as people see it. */
export interface ArgvRendering {
  /** The whole argv as one line of JSON in which everything that could mislead is escaped. */
  readonly text: string;
  /** The same in bounded length. What is left out is counted outside of the quotes, where no token can write. */
  readonly summary: string;
  /** True where `summary` leaves something out. */
  readonly elided: boolean;
  readonly tokens: number;
  /** Code points of all tokens together. */
  readonly characters: number;
  /** UTF-8 bytes of all tokens together. */
  readonly bytes: number;
  /** The first tokens that are marked or cut. */
  readonly notes: readonly TokenNote[];
  /** How many more are marked or cut than `notes` names. */
  readonly furtherNotes: number;
}

/** Tokens of a longer argv that the summary shows from either end. */
const HEAD_TOKENS = 24;
const TAIL_TOKENS = 8;
/** Characters of a longer token, as rendered, that the summary shows from either end. */
const HEAD_CHARACTERS = 160;
const TAIL_CHARACTERS = 40;
const MAX_NOTES = 32;

/** Shows an argv. Pure; the same for every surface. */
export function renderArgv(argv: readonly string[]): ArgvRendering {
  const texts: string[] = [];
  const shown: string[] = [];
  const notes: TokenNote[] = [];
  let furtherNotes = 0;
  let characters = 0;
  let bytes = 0;
  const isCut = argv.length > HEAD_TOKENS + TAIL_TOKENS;
  let elided = isCut;
  for (const [index, token] of argv.entries()) {
    const { text, marks } = safeText(token);
    const own = { characters: codePoints(token), bytes: utf8Length(token) };
    characters += own.characters;
    bytes += own.bytes;
    texts.push(`"${text}"`);
    const isShown = !isCut || index < HEAD_TOKENS || index >= argv.length - TAIL_TOKENS;
    const short = shortened(token, text);
    const cut = short !== `"${text}"`;
    if (isShown) shown.push(short);
    if (isCut && index === HEAD_TOKENS) {
      shown.push(`...(+${argv.length - HEAD_TOKENS - TAIL_TOKENS} tokens not shown)...`);
    }
    if (cut) elided = true;
    if (marks.length > 0 || cut) {
      if (notes.length < MAX_NOTES) notes.push({ index, ...own, marks, cut });
      else furtherNotes += 1;
    }
  }
  return {
    text: `[${texts.join(",")}]`,
    summary: `[${shown.join(",")}]`,
    elided,
    tokens: argv.length,
    characters,
    bytes,
    notes,
    furtherNotes,
  };
}

/** A token in quotes, or its two ends with the number of characters between them. */
function shortened(token: string, text: string): string {
  if (text.length <= HEAD_CHARACTERS + TAIL_CHARACTERS) return `"${text}"`;
  // Cut in the original: a cut in the rendered text could fall into an escape.
  const characters = [...token];
  let head = 0;
  for (let length = 0; head < characters.length; head += 1) {
    length += safeText(characters[head] ?? "").text.length;
    if (length > HEAD_CHARACTERS) break;
  }
  let tail = 0;
  for (let length = 0; head + tail < characters.length; tail += 1) {
    length += safeText(characters[characters.length - 1 - tail] ?? "").text.length;
    if (length > TAIL_CHARACTERS) break;
  }
  const left = characters.length - head - tail;
  if (left === 0) return `"${text}"`;
  const start = safeText(characters.slice(0, head).join("")).text;
  const end = safeText(characters.slice(characters.length - tail).join("")).text;
  return `"${start}"...(+${left} characters not shown)..."${end}"`;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
