import type { CliStream, CliWorld } from "./cli-command.js";
import { escapeForTerminal } from "./terminal-text.js";

/** What a word is to its reader; a terminal shows it as a colour. */
type Tone = "good" | "warn" | "bad";

/** A part of a line that has a tone. */
interface Toned {
  readonly text: string;
  readonly tone: Tone;
}

/** One line of output. Its parts are escaped as they are written, so that nothing in them makes a line or a colour of its own. */
export type Line = string | readonly (string | Toned)[];

const SEQUENCE: Readonly<Record<Tone, string>> = { good: "32", warn: "33", bad: "31" };

const TONE_OF: Readonly<Record<string, Tone>> = {
  ok: "good",
  alive: "good",
  completed: "good",
  approved: "good",
  warn: "warn",
  draining: "warn",
  pending: "warn",
  awaiting_approval: "warn",
  cancelled: "warn",
  expired: "warn",
  FAIL: "bad",
  silent: "bad",
  denied: "bad",
  approval_denied: "bad",
  approval_expired: "bad",
  start_failed: "bad",
  timed_out: "bad",
  output_limit_exceeded: "bad",
  out_of_memory: "bad",
  lost: "bad",
};

/** A word of Bailiff's own, such as a state or an outcome, in its tone; with a width, filled up to that. */
export function stateWord(word: string, width = 0): string | Toned {
  const text = word.padEnd(width);
  const tone = Object.hasOwn(TONE_OF, word) ? TONE_OF[word] : undefined;
  return tone === undefined ? text : { text, tone };
}

/** Whether a stream takes colours: it is a terminal, and neither NO_COLOR nor a dumb terminal asks for none. */
function takesColour(stream: CliStream, env: CliWorld["env"]): boolean {
  return stream.isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

/** Writes lines to standard output, in colours where it takes them. */
export function printLines({ stdout, env }: CliWorld, lines: readonly Line[]): void {
  const colours = takesColour(stdout, env);
  for (const line of lines) {
    const parts = typeof line === "string" ? [line] : line;
    const written = parts.map((part) => {
      if (typeof part === "string") return escapeLine(part);
      const text = escapeLine(part.text);
      return colours ? `\u001b[${SEQUENCE[part.tone]}m${text}\u001b[0m` : text;
    });
    stdout.write(`${written.join("")}\n`);
  }
}

function escapeLine(text: string): string {
  return escapeForTerminal(text).replaceAll("\n", "\\u000a");
}
