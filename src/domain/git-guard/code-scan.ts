const DELIMITER = /[\s"'`;&|(){}[\],<>!:=$@]/;
const COMMAND_POSITION = /[;&|(`!{[<\n"']/;
const QUOTES = new Set(['"', "'", "`"]);
const MAX_LITERALS = 256;
const MAX_LITERAL_CHARS = 8192;
const MAX_PATH_CHARS = 256;

/** True when the text has `git` (or `git-*`, a path to it, `git.exe`) as a word anywhere. For text whose command names are computed. */
export function mentionsGitWord(text: string): boolean {
  for (const _ of gitWords(text)) return true;
  return false;
}

/**
 * Looks for a visible start of Git in program text of any language: a string literal that is `git` or begins with it, `git` in
 * command position (also behind the `e` of sed), and literals that `startsGit` (shell text) says start it. Best effort by nature: text that assembles the word at
 * run time is not seen. Linear in the text.
 */
export function codeStartsGit(code: string, startsGit: (shellText: string) => boolean): boolean {
  for (const { start, end } of gitWords(code)) {
    let before = start - 1;
    const limit = Math.max(-1, before - MAX_PATH_CHARS);
    while (before > limit && /[ \t]/.test(code[before] ?? "")) before--;
    const left = before < 0 ? "\n" : (code[before] ?? "");
    const isExecuteCommand = left === "e" && before < start - 1 && !/[A-Za-z_]/.test(code[before - 1] ?? "");
    if (!COMMAND_POSITION.test(left) && !isExecuteCommand) continue;
    if (left === "\n" && !/^[ \t]+[A-Za-z-]/.test(code.slice(end, end + 8))) continue;
    return true;
  }
  for (const literal of stringLiterals(code)) {
    if (/git/i.test(literal) && startsGit(literal)) return true;
  }
  return false;
}

/** Every whole word that is Git, with the position where its path begins. */
function* gitWords(text: string): Generator<{ start: number; end: number }> {
  const lower = text.toLowerCase();
  for (let at = lower.indexOf("git"); at >= 0; at = lower.indexOf("git", at + 3)) {
    let end = at + 3;
    if (lower.startsWith(".exe", end)) end += 4;
    else if (lower[end] === "-") {
      while (end < lower.length && /[a-z0-9-]/.test(lower[end] ?? "")) end++;
    }
    if (end < text.length && !DELIMITER.test(text[end] ?? "")) continue;
    let start = at;
    const limit = Math.max(0, at - MAX_PATH_CHARS);
    if (start > 0 && /[/\\]/.test(text[start - 1] ?? "")) {
      while (start > limit && /[A-Za-z0-9_./\\-]/.test(text[start - 1] ?? "")) start--;
    }
    if (start > 0 && start !== limit && !DELIMITER.test(text[start - 1] ?? "")) continue;
    yield { start, end };
  }
}

/** Contents of quoted literals, without any language's escapes. */
function* stringLiterals(code: string): Generator<string> {
  let count = 0;
  for (let at = 0; at < code.length && count < MAX_LITERALS; at++) {
    const quote = code[at] ?? "";
    if (!QUOTES.has(quote)) continue;
    const end = code.indexOf(quote, at + 1);
    if (end < 0) continue;
    count++;
    if (end - at <= MAX_LITERAL_CHARS) yield code.slice(at + 1, end);
    at = end;
  }
}
