import { createHash } from "node:crypto";
import { canonicalJson, NotCanonical } from "../../domain/canonical-json.js";
import { BailiffError } from "../../domain/errors.js";

/**
 * SHA-256 of the canonical JSON of what an idempotency key stands for. The session is part of it:
 * the same body for another session is another request.
 */
export function bodyHash(sessionId: string, body: unknown): string {
  try {
    return createHash("sha256")
      .update(canonicalJson({ body, session_id: sessionId }))
      .digest("hex");
  } catch (error) {
    if (!(error instanceof NotCanonical)) throw error;
    throw new BailiffError("invalid_request", "the body has no canonical JSON form", { cause: error });
  }
}
