/** Longer credentials are refused unread. */
const MAX_BEARER_CHARS = 8_192;

/** The credential of an `Authorization: Bearer` header (RFC 6750), or null for any other header. */
export function bearerOf(header: string | undefined): string | null {
  if (header === undefined || header.length > MAX_BEARER_CHARS) return null;
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1] ?? null;
}
