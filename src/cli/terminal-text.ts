/** Controls but tab and line feed, C1 controls, bidi marks and other characters that change what a reader sees. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Text that can't move a terminal's cursor, set its title or reorder its line; escaped characters show as `\u001b`. */
export function escapeForTerminal(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
