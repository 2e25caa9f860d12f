/** Stable codes of refusals and faults; the message is not stable, the code is. `docs/errors.md` is written from this table. */
export const ERROR_TABLE = {
  invalid_request: { status: 400, title: "The request is not valid" },
  unauthenticated: { status: 401, title: "No valid credential" },
  insufficient_scope: { status: 403, title: "The principal lacks a scope" },
  origin_refused: { status: 403, title: "Pages of this origin may not call" },
  denied: { status: 403, title: "The command is denied" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  conflict: { status: 409, title: "The state does not allow this" },
  idempotency_mismatch: { status: 409, title: "The idempotency key was used with another body" },
  workspace_in_use: { status: 409, title: "The workspace has sessions" },
  workspace_unusable: { status: 409, title: "The workspace can't be used" },
  payload_too_large: { status: 413, title: "The request body is too large" },
  unsupported_media_type: { status: 415, title: "The body is of another media type" },
  grant_exhausted: { status: 403, title: "The session's grant is used up, expired or revoked" },
  budget_exhausted: { status: 403, title: "The session's budget is used up" },
  quota_exceeded: { status: 429, title: "A quota is used up" },
  rate_limited: { status: 429, title: "Too many requests" },
  overloaded: { status: 503, title: "The queue is full" },
  store_unavailable: { status: 503, title: "The store is unavailable" },
  not_ready: { status: 503, title: "Not ready" },
  shutting_down: { status: 503, title: "Shutting down" },
  internal: { status: 500, title: "Internal error" },
} as const satisfies Record<string, { status: number; title: string }>;

/** One of the stable codes. */
export type ErrorCode = keyof typeof ERROR_TABLE;

/** One field of a request that is wrong. `path` is a JSON pointer; `message` names the limit, never the value. */
export interface FieldFault {
  readonly path: string;
  readonly message: string;
}

/** A refusal of the caller's request, or a fault of the surroundings, with what the caller may know. */
export class BailiffError extends Error {
  override readonly name = "BailiffError";
  readonly code: ErrorCode;
  readonly faults: readonly FieldFault[];
  readonly retryAfterMs: number | null;
  /** Further members of the problem document. */
  readonly extensions: Readonly<Record<string, unknown>>;
  constructor(
    code: ErrorCode,
    message: string,
    more: {
      faults?: readonly FieldFault[];
      retryAfterMs?: number;
      extensions?: Readonly<Record<string, unknown>>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.faults = more.faults ?? [];
    this.retryAfterMs = more.retryAfterMs ?? null;
    this.extensions = more.extensions ?? {};
  }
}
