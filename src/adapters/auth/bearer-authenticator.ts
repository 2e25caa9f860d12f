import type { Authenticator } from "../../ports/authenticator.js";

/** Longer than any credential; bounds the work a stranger can ask for. */
const MAX_BEARER_CHARS = 16_384;

/** API keys by their prefix, everything in three parts as a token where tokens are accepted; anything else is nobody. */
export function createBearerAuthenticator(parts: {
  readonly apiKeys: Authenticator;
  readonly jwt: Authenticator | null;
}): Authenticator {
  return {
    async authenticate(bearer) {
      if (bearer.length > MAX_BEARER_CHARS) return null;
      if (bearer.startsWith("blf_")) return parts.apiKeys.authenticate(bearer);
      if (parts.jwt !== null && bearer.split(".").length === 3) return parts.jwt.authenticate(bearer);
      return null;
    },
  };
}
