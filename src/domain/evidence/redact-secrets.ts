/** What stands in place of a secret. */
export const REDACTED = "[redacted]";

/** Options whose value is a secret wherever they stand; a deployment may name others. */
export const DEFAULT_SECRET_OPTIONS: readonly string[] = [
  "--password",
  "--passwd",
  "--passphrase",
  "--token",
  "--access-token",
  "--auth-token",
  "--api-key",
  "--apikey",
  "--secret",
  "--secret-key",
  "--client-secret",
  "--private-key",
];

/** Tokens of well-known services by their shape. Each is linear: no part can match the same text in two ways. */
const TOKEN_SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----.*/gs,
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\b(?:sk|rk|pk)[-_][A-Za-z0-9_-]{20,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bblf_key_[0-9a-z]{26}_[A-Za-z0-9_-]{20,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
];

/** The value of a header, of a variable or of a member whose name says that it is a secret; the name stays. */
const NAMED_VALUES: readonly RegExp[] = [
  /(\b(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4})[^"'\r\n]+/gi,
  /(\b(?:bearer|basic)\s{1,4})[A-Za-z0-9+/=._~-]{8,}/gi,
  /(\b(?:cookie|x-api-key|x-auth-token)["']?\s{0,4}[:=]\s{0,4})[^"'\r\n]+/gi,
  /((?:password|passwd|passphrase|secret|token|api_key|apikey|access_key|private_key|credential)[A-Za-z0-9_-]{0,64}["']?[=:]\s{0,4}["']?)[^"'\s&;]+/gi,
];

/** The password in a URL's authority; the user's name stays. */
const URL_PASSWORD = /(\b[A-Za-z][A-Za-z0-9+.-]{0,31}:\/\/[^\s/?#:@]{0,256}:)[^\s/?#@]+(?=@)/g;

/** A vector without its secrets, and which of its tokens are not as they were. */
export interface RedactedVector {
  readonly argv: readonly string[];
  readonly changed: readonly number[];
}

/**
 * Text with everything that looks like a secret replaced. It knows names and shapes: a secret that looks like a word stays,
 * and only `hashed` recording keeps that out.
 */
export function redactText(text: string, secretOptions: readonly string[]): string {
  // Canonical JSON has no lone surrogates.
  let redacted = text.toWellFormed();
  for (const shape of TOKEN_SHAPES) redacted = redacted.replace(shape, REDACTED);
  for (const named of NAMED_VALUES) redacted = redacted.replace(named, `$1${REDACTED}`);
  redacted = redacted.replace(URL_PASSWORD, `$1${REDACTED}`);
  for (const option of secretOptions) redacted = redactOption(redacted, option);
  return redacted;
}

/** The vector with the values of secret options and everything else that looks like a secret replaced. */
export function redactVector(argv: readonly string[], secretOptions: readonly string[]): RedactedVector {
  const options = new Set(secretOptions);
  const redacted = argv.map((token, index) => {
    const before = index === 0 ? undefined : argv[index - 1];
    if (before !== undefined && options.has(before)) return REDACTED;
    return redactText(token, secretOptions);
  });
  return {
    argv: redacted,
    changed: redacted.flatMap((token, index) => (token === argv[index] ? [] : index)),
  };
}

/** `--option=value` as a token of its own, and `--option value` inside a longer text, as shell text has it. */
function redactOption(text: string, option: string): string {
  let result = "";
  let rest = 0;
  for (;;) {
    const at = text.indexOf(option, rest);
    if (at === -1) return result + text.slice(rest);
    const end = at + option.length;
    const isWhole = at === 0 || /[\s"'=;|&(]/.test(text[at - 1] ?? "");
    const between = text[end] ?? "";
    if (!isWhole || !/[=\s]/.test(between)) {
      result += text.slice(rest, end);
      rest = end;
      continue;
    }
    let valueEnd = end + 1;
    // Of a token of its own the value is all of the rest, spaces included.
    if (at === 0 && between === "=") valueEnd = text.length;
    else while (valueEnd < text.length && !/[\s;|&)]/.test(text[valueEnd] ?? "")) valueEnd += 1;
    result += text.slice(rest, end + 1) + REDACTED;
    rest = valueEnd;
  }
}
