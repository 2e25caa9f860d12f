/** Splits text as `env -S` does where that is certain: blanks, quotes, its escapes, comments; undefined with an expansion or a fault. */
export function splitWords(text: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string[] | undefined;
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const unit = text[at] ?? "";
    const next = text[at + 1] ?? "";
    if (quote === "'") {
      if (unit === "'") quote = "";
      else if (unit === "\\" && (next === "\\" || next === "'")) word?.push(text[++at] ?? "");
      else word?.push(unit);
      continue;
    }
    if (unit === "$") return undefined;
    if (unit === quote) quote = "";
    else if (quote === "" && (unit === "'" || unit === '"')) {
      quote = unit;
      word ??= [];
    } else if (unit === "\\") {
      at++;
      if (next === "c") {
        if (quote !== "") return undefined;
        break;
      }
      if (next === "_" && quote === "") {
        if (word !== undefined) words.push(word.join(""));
        word = undefined;
        continue;
      }
      const meant = ESCAPES[next];
      if (meant === undefined) return undefined;
      word ??= [];
      word.push(meant);
    } else if (quote === "" && BLANKS.includes(unit)) {
      if (word !== undefined) words.push(word.join(""));
      word = undefined;
    } else if (quote === "" && unit === "#" && word === undefined) break;
    else {
      word ??= [];
      word.push(unit);
    }
  }
  if (quote !== "") return undefined;
  if (word !== undefined) words.push(word.join(""));
  return words;
}

const BLANKS = " \t\n\v\f\r";
const ESCAPES: Readonly<Record<string, string>> = {
  _: " ",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "#": "#",
  $: "$",
};
