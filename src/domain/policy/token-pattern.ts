import type { TokenAlternative, TokenPattern } from "./policy-document.js";

/** A compiled test of one whole token. */
export type TokenMatcher = (token: string) => boolean;

/** True when `*` (any characters) and `?` (one UTF-16 unit) of the glob cover the whole text. No recursion: at most glob length times text length steps. */
export function matchesGlob(glob: string, text: string): boolean {
  let globIndex = 0;
  let textIndex = 0;
  let starIndex = -1;
  let resumeIndex = 0;
  while (textIndex < text.length) {
    const unit = glob[globIndex];
    if (unit === "*") {
      starIndex = globIndex++;
      resumeIndex = textIndex;
    } else if (unit !== undefined && (unit === "?" || unit === text[textIndex])) {
      globIndex++;
      textIndex++;
    } else if (starIndex >= 0) {
      globIndex = starIndex + 1;
      textIndex = ++resumeIndex;
    } else return false;
  }
  while (glob[globIndex] === "*") globIndex++;
  return globIndex === glob.length;
}

/** Compiles alternatives; literals share one set, so a long list costs one look-up per token. */
export function compileAlternatives(alternatives: readonly TokenAlternative[]): TokenMatcher {
  const literals = new Set<string>();
  const matchers: TokenMatcher[] = [];
  for (const alternative of alternatives) {
    if (typeof alternative === "string") literals.add(alternative);
    else if ("glob" in alternative) {
      const { glob } = alternative;
      matchers.push((token) => matchesGlob(glob, token));
    } else {
      const allowed = new Set(alternative.chars);
      matchers.push((token) => token !== "" && everyCharacter(token, allowed));
    }
  }
  if (matchers.length === 0) return (token) => literals.has(token);
  return (token) => literals.has(token) || matchers.some((matches) => matches(token));
}

/** Compiles one element of a pattern. */
export function compileTokenPattern(pattern: TokenPattern): TokenMatcher {
  if (typeof pattern === "string") return (token) => token === pattern;
  return compileAlternatives(Array.isArray(pattern) ? pattern : [pattern]);
}

function everyCharacter(token: string, allowed: ReadonlySet<string>): boolean {
  for (const character of token) {
    if (!allowed.has(character)) return false;
  }
  return true;
}
