/** Where the container sees the workspace. */
export const WORKSPACE_ROOT = "/workspace";

/** Why a token is refused. Constant words: nothing about the host, no caller bytes. */
export type TokenRefusal =
  | "leaves_workspace"
  | "home_expansion"
  | "file_url"
  | "control_character"
  | "percent_encoding"
  | "too_many_paths"
  | "executable_not_listed";

/** One token's judgement: a refusal, or the paths whose symlinks have to be looked at. */
export interface TokenJudgement {
  readonly refusal?: TokenRefusal;
  /** Workspace-relative, `.` and repeated slashes removed, `..` kept behind names, because symlinks come first. */
  readonly lookUps: readonly LookUp[];
}

/** A path to look up in the workspace. */
export interface LookUp {
  readonly path: string;
  /** False for a bare word: only a symlink that leads outside makes it a path at all. */
  readonly pathLike: boolean;
}

/** What does not change from token to token. */
export interface TokenContext {
  /** Canonical: `.` or `a/b`. */
  readonly cwd: string;
  /** Absolute directories of the image that may be read. */
  readonly readOnlyRoots: readonly string[];
}

/** Longest path and longest component the kernel opens: what is longer can't exist, so it needs no look-up. */
const PATH_MAX_CHARS = 4095;
const NAME_MAX_CHARS = 255;
const MAX_LOOK_UP_CHARS_PER_TOKEN = 1 << 20;

const URL_START = /^[A-Za-z][A-Za-z0-9+.-]+:\/\/(?!\.{1,2}(?:[/\\?#]|$))[A-Za-z0-9._~:%@[\]-]+(?=[/?#]|$)/;
const PERCENT_PAIR = /%[0-9A-Fa-f]{2}/;
const SLASH = 47;
const COLON = 58;
const EQUALS = 61;
const AT = 64;
const CONTROL = /\p{Cc}/u;

/**
 * Judges one token by the table in `docs/containment.md`. Linear in the token: suffixes that could be paths (behind option letters,
 * `=`, `@`, `:`) are folded from right to left in one pass.
 */
export function judgeToken(token: string, context: TokenContext): TokenJudgement {
  const judgement = judgeOnce(token, context);
  if (judgement.refusal !== undefined || !PERCENT_PAIR.test(token)) return judgement;
  const decoded = token.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => {
    const byte = Number.parseInt(hex, 16);
    return byte < 0x80 ? String.fromCharCode(byte) : "\uFFFD";
  });
  const other = judgeOnce(decoded, context);
  if (other.refusal !== undefined) return { refusal: "percent_encoding", lookUps: [] };
  return { lookUps: [...judgement.lookUps, ...other.lookUps] };
}

/** Judges argv[0]: a name without a slash is looked up in the safe PATH only; a path is judged, or listed in the policy. */
export function judgeExecutable(
  argv0: string,
  context: TokenContext,
  isListed: (path: string) => boolean,
): TokenJudgement {
  if (isListed(argv0)) return { lookUps: [] };
  if (
    /[/\\]/.test(argv0) ||
    argv0 === "." ||
    argv0 === ".." ||
    argv0.startsWith("~") ||
    /%2f|%5c/i.test(argv0)
  ) {
    const judgement = judgeToken(argv0, context);
    if (judgement.refusal === "leaves_workspace" && argv0.startsWith("/")) {
      return { refusal: "executable_not_listed", lookUps: [] };
    }
    return judgement;
  }
  if (hasFileScheme(argv0)) return { refusal: "file_url", lookUps: [] };
  return { lookUps: [] };
}

function judgeOnce(token: string, context: TokenContext): TokenJudgement {
  const folded = token.replaceAll("\\", "/");
  if (hasFileScheme(folded)) return { refusal: "file_url", lookUps: [] };
  const starts = suffixStarts(folded);
  const urlAt = urlStart(folded, starts);
  const suffixes = foldSuffixes(
    folded,
    urlAt < 0 ? starts : starts.filter((start) => start <= urlAt),
    context,
  );

  let pathLike = false;
  for (const suffix of suffixes) {
    if (suffix.refusal !== undefined) return { refusal: suffix.refusal, lookUps: [] };
    pathLike ||= suffix.pathLike;
  }
  if (pathLike && urlAt !== 0 && CONTROL.test(token)) return { refusal: "control_character", lookUps: [] };

  const lookUps: LookUp[] = [];
  let chars = 0;
  for (const suffix of suffixes) {
    for (const text of folded === token ? [folded] : [folded, token]) {
      const suffixText = text.slice(suffix.start, suffix.start + PATH_MAX_CHARS + 1);
      const path = lookUpPath(suffixText, context.cwd);
      if (path === undefined) {
        // An absolute way into the workspace that takes a detour can't be looked up component by component.
        if (suffix.detour) return { refusal: "leaves_workspace", lookUps: [] };
        continue;
      }
      // The kernel takes a link before `..`, programs that normalise a path themselves do not: both readings have to stay inside.
      const spellings = [path, foldNames(path)];
      chars += path.length;
      if (chars > MAX_LOOK_UP_CHARS_PER_TOKEN) return { refusal: "too_many_paths", lookUps: [] };
      // A URL is no path, unless the workspace has a link of its scheme's name that leads out.
      for (const spelling of new Set(spellings)) {
        if (spelling === undefined) continue;
        lookUps.push({ path: spelling, pathLike: suffix.pathLike && suffix.start !== urlAt });
      }
    }
  }
  return { lookUps };
}

/**
 * Positions where a path may begin: the token, behind option letters (any of a cluster may be the one with a value), behind `=`, `@`,
 * `:` and `=<`, in options also behind `,`. Ascending, no duplicates.
 */
function suffixStarts(token: string): number[] {
  const starts = new Set<number>([0]);
  if (token.startsWith("-")) {
    let at = 1;
    while (token[at] === "-") at++;
    if (at < token.length) starts.add(at);
    if (!token.startsWith("--")) {
      if (token.length > 2) starts.add(2);
      while (at < token.length && /[A-Za-z0-9]/.test(token[at] ?? "")) at++;
      if (at < token.length) starts.add(at);
      // A value that begins further in front has a first component longer than any name.
      const slash = token.indexOf("/");
      const end = slash < 0 ? token.length : token[slash - 1] === "." ? slash : slash + 1;
      for (let value = Math.max(1, end - NAME_MAX_CHARS - 1); value < end; value++) starts.add(value);
    }
    for (let comma = token.indexOf(","); comma >= 0 && comma < token.length - 1; ) {
      starts.add(comma + 1);
      comma = token.indexOf(",", comma + 1);
    }
  }
  for (let at = 0; at < token.length - 1; at++) {
    const unit = token.charCodeAt(at);
    if (unit === EQUALS || unit === AT || unit === COLON) starts.add(at + 1);
    if (unit === EQUALS && token[at + 1] === "<") starts.add(at + 2);
  }
  return starts.size === 1 ? [0] : [...starts].sort((a, b) => a - b);
}

/** Where a URL with scheme and authority begins; everything behind that position is the URL's own text. -1 for none. */
function urlStart(token: string, starts: readonly number[]): number {
  const marker = token.indexOf("://");
  if (marker < 0) return -1;
  for (const start of starts) {
    if (start >= marker) return -1;
    if (marker - start <= 64 && URL_START.test(token.slice(start, start + 4096))) return start;
  }
  return -1;
}

interface FoldedSuffix {
  readonly start: number;
  readonly pathLike: boolean;
  /** True for an absolute path that ends in the workspace: it must also begin there. */
  readonly detour?: boolean;
  readonly refusal?: TokenRefusal;
}

/**
 * Folds every suffix at once, from the end of the token to its beginning: a suffix's normal form is "so many levels up, then
 * these names", and putting one more component in front changes it by one step.
 */
function foldSuffixes(token: string, starts: readonly number[], context: TokenContext): FoldedSuffix[] {
  const cwdDepth = context.cwd === "." ? 0 : context.cwd.split("/").length;
  const results: FoldedSuffix[] = [];
  let ups = 0;
  const names: string[] = [];
  let componentEnd = token.length;
  let startIndex = starts.length - 1;
  let sawSlash = false;

  for (let at = token.length; at >= 0 && startIndex >= 0; at--) {
    while (startIndex >= 0 && starts[startIndex] === at) {
      const head = token.slice(at, componentEnd);
      results.push(
        judgeSuffix(at, head, token.charCodeAt(at) === SLASH, { ups, names, cwdDepth, sawSlash, context }),
      );
      startIndex--;
    }
    if (at > 0 && token.charCodeAt(at - 1) === SLASH) {
      const component = token.slice(at, componentEnd);
      if (component === "..") ups++;
      else if (component !== "" && component !== ".") {
        if (ups > 0) ups--;
        else names.push(component);
      }
      componentEnd = at - 1;
      sawSlash = true;
    }
  }
  return results.reverse();
}

function judgeSuffix(
  start: number,
  head: string,
  absolute: boolean,
  state: {
    readonly ups: number;
    readonly names: readonly string[];
    readonly cwdDepth: number;
    readonly sawSlash: boolean;
    readonly context: TokenContext;
  },
): FoldedSuffix {
  let { ups } = state;
  const { names, context } = state;
  if (head.startsWith("~")) return { start, pathLike: true, refusal: "home_expansion" };
  const special = head === "." || head === "..";
  const pathLike = state.sawSlash || special;
  if (!pathLike) return { start, pathLike };

  const top: string[] = [];
  if (!absolute && !special && head !== "") {
    if (ups > 0) ups--;
    else top.push(head);
  }
  if (head === "..") ups++;
  const nameAt = (index: number): string | undefined =>
    index < top.length ? top[index] : names[names.length - 1 - (index - top.length)];
  const count = top.length + names.length;

  if (!absolute && ups <= state.cwdDepth) return { start, pathLike };
  // Above the workspace's parent there is nothing: `..` of `/` is `/`. What is left of the names is an absolute path.
  const isAt = (root: string): boolean => {
    const parts = root.split("/").filter((part) => part !== "");
    return count >= parts.length && parts.every((part, index) => nameAt(index) === part);
  };
  if (isAt(WORKSPACE_ROOT)) return { start, pathLike, detour: absolute };
  if (!absolute) return { start, pathLike, refusal: "leaves_workspace" };
  if (count === 2 && isAt("/dev/null")) return { start, pathLike };
  if (context.readOnlyRoots.some((root) => root !== "/" && isAt(root))) return { start, pathLike };
  return { start, pathLike, refusal: "leaves_workspace" };
}

/** The workspace-relative path to look up for a relative or workspace-absolute path; undefined when there can be none. */
function lookUpPath(text: string, cwd: string): string | undefined {
  if (text === "" || text.length > PATH_MAX_CHARS || text.includes("\0")) return undefined;
  let base = cwd === "." ? [] : cwd.split("/");
  let rest = text;
  if (text.startsWith("/")) {
    const match = /^\/+(?:\.\/+)*workspace(?:\/+|$)/.exec(text);
    if (match === null) return undefined;
    base = [];
    rest = text.slice(match[0].length);
  }
  const components = [...base];
  for (const component of rest.split("/")) {
    if (component === "" || component === ".") continue;
    if (component.length > NAME_MAX_CHARS) return undefined;
    components.push(component);
  }
  return components.length === 0 ? "." : components.join("/");
}

/** The path without `..`; undefined when it leaves the workspace on its way. */
function foldNames(path: string): string | undefined {
  if (!path.includes("..")) return path;
  const names: string[] = [];
  for (const component of path.split("/")) {
    if (component !== "..") names.push(component);
    else if (names.pop() === undefined) return undefined;
  }
  return names.length === 0 ? "." : names.join("/");
}

/** True for `file:` in any case where a URL can begin: at the start, behind a character no scheme has, or behind option letters. */
function hasFileScheme(token: string): boolean {
  const lower = token.toLowerCase();
  for (let at = lower.indexOf("file:"); at >= 0; at = lower.indexOf("file:", at + 5)) {
    const next = lower[at + 5] ?? "";
    if (/\s/.test(next)) continue;
    if (next === "/" && lower[at + 6] === "/") {
      if (at === 0 || !/[a-z0-9+.-]/.test(lower[at - 1] ?? "") || token.startsWith("-")) return true;
      continue;
    }
    if (at === 0 || !/[a-z0-9+._-]/.test(lower[at - 1] ?? "")) return true;
    if (/^-[a-z0-9]+$/.test(lower.slice(0, at)) && at <= 64) return true;
  }
  return false;
}
