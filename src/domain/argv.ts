/** At most this many tokens in one argv. */
export const MAX_TOKENS = 4_096;
/** At most this many UTF-8 bytes in one token: Linux's MAX_ARG_STRLEN less the closing NUL. */
export const MAX_TOKEN_BYTES = 131_071;
/** At most this many UTF-8 bytes in all tokens together. */
export const MAX_ARGV_BYTES = 1_048_576;

/** What is wrong with an argv; `tokenIndex` is null where the fault is of the whole vector. */
export interface ArgvFault {
  readonly tokenIndex: number | null;
  readonly message: string;
}

/** UTF-8 length of a well-formed string, without encoding it. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit <= 0xdbff) {
      bytes += 4;
      i += 1;
    } else bytes += 3;
  }
  return bytes;
}

/** The first bound of the pipeline's schema layer that an argv breaks, or null. Linear in the input; never quotes the token. */
export function argvFault(argv: readonly string[]): ArgvFault | null {
  if (argv.length === 0) return { tokenIndex: null, message: "argv must have at least 1 token" };
  if (argv.length > MAX_TOKENS) {
    return { tokenIndex: null, message: `argv must have at most ${MAX_TOKENS} tokens, got ${argv.length}` };
  }
  if (argv[0]?.trim() === "") return { tokenIndex: 0, message: "argv[0] must not be blank" };
  let total = 0;
  for (const [tokenIndex, token] of argv.entries()) {
    if (token.includes("\0")) return { tokenIndex, message: "must not contain a NUL character" };
    if (!token.isWellFormed()) return { tokenIndex, message: "must not contain a lone surrogate" };
    const bytes = utf8Length(token);
    if (bytes > MAX_TOKEN_BYTES) {
      return { tokenIndex, message: `must be at most ${MAX_TOKEN_BYTES} UTF-8 bytes, got ${bytes}` };
    }
    total += bytes;
  }
  if (total > MAX_ARGV_BYTES) {
    return {
      tokenIndex: null,
      message: `all tokens together must be at most ${MAX_ARGV_BYTES} UTF-8 bytes, got ${total}`,
    };
  }
  return null;
}
