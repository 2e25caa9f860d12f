/** One variable of a Git configuration file; section and key are lower-case, the subsection is as written. */
export interface GitConfigVariable {
  readonly section: string;
  readonly subsection: string | undefined;
  readonly key: string;
  /** `undefined` for a variable without `=`. */
  readonly value: string | undefined;
}

/** Reads the text of a Git configuration file as Git does; undefined for text Git would refuse. Linear in the text. */
export function readGitConfigText(text: string): readonly GitConfigVariable[] | undefined {
  const source = (text.startsWith("\uFEFF") ? text.slice(1) : text).replaceAll("\r\n", "\n");
  const variables: GitConfigVariable[] = [];
  let section: string | undefined;
  let subsection: string | undefined;
  let at = 0;

  while (at < source.length) {
    const unit = source[at] ?? "";
    if (/\s/.test(unit)) {
      at++;
    } else if (unit === "#" || unit === ";") {
      const end = source.indexOf("\n", at);
      at = end < 0 ? source.length : end + 1;
    } else if (unit === "[") {
      const header = readHeader(source, at + 1);
      if (header === undefined) return undefined;
      ({ section, subsection } = header);
      at = header.end;
    } else if (/[A-Za-z]/.test(unit)) {
      if (section === undefined) return undefined;
      const start = at;
      while (at < source.length && /[A-Za-z0-9-]/.test(source[at] ?? "")) at++;
      const key = source.slice(start, at).toLowerCase();
      while (source[at] === " " || source[at] === "\t") at++;
      if (source[at] === "=") {
        const read = readValue(source, at + 1);
        if (read === undefined) return undefined;
        variables.push({ section, subsection, key, value: read.value });
        at = read.end;
      } else if (at >= source.length || source[at] === "\n") {
        variables.push({ section, subsection, key, value: undefined });
      } else return undefined;
    } else return undefined;
  }
  return variables;
}

function readHeader(
  source: string,
  start: number,
): { section: string; subsection: string | undefined; end: number } | undefined {
  let at = start;
  while (at < source.length && /[A-Za-z0-9.-]/.test(source[at] ?? "")) at++;
  const name = source.slice(start, at).toLowerCase();
  if (name === "") return undefined;
  if (source[at] === "]") {
    const dot = name.indexOf(".");
    return dot < 0
      ? { section: name, subsection: undefined, end: at + 1 }
      : { section: name.slice(0, dot), subsection: name.slice(dot + 1), end: at + 1 };
  }
  while (source[at] === " " || source[at] === "\t") at++;
  if (source[at] !== '"') return undefined;
  const parts: string[] = [];
  for (at++; at < source.length && source[at] !== '"'; at++) {
    if (source[at] === "\n") return undefined;
    if (source[at] === "\\") at++;
    parts.push(source[at] ?? "");
  }
  if (source[at] !== '"' || source[at + 1] !== "]") return undefined;
  return { section: name, subsection: parts.join(""), end: at + 2 };
}

function readValue(source: string, start: number): { value: string; end: number } | undefined {
  const parts: string[] = [];
  let quoted = false;
  let at = start;
  for (; at < source.length; at++) {
    const unit = source[at] ?? "";
    if (unit === "\n") {
      if (quoted) return undefined;
      break;
    }
    if (!quoted && (unit === "#" || unit === ";")) {
      const end = source.indexOf("\n", at);
      at = end < 0 ? source.length : end;
      break;
    }
    if (unit === '"') quoted = !quoted;
    else if (unit === "\\") {
      at++;
      const escaped = source[at];
      if (escaped === "\n") continue;
      if (escaped === "t") parts.push("\t");
      else if (escaped === "b") parts.push("\b");
      else if (escaped === "n") parts.push("\n");
      else if (escaped === "\\" || escaped === '"') parts.push(escaped);
      else return undefined;
    } else parts.push(unit);
  }
  if (quoted) return undefined;
  return { value: parts.join("").trim(), end: at };
}
