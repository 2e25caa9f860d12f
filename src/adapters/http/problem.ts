import { decisionToWire } from "../../contract/decisions.js";
import type { ProblemWire } from "../../contract/problems.js";
import type { Decision } from "../../domain/decision/decision.js";
import type { BailiffError, ErrorCode } from "../../domain/errors.js";
import { ERROR_TABLE } from "../../domain/errors.js";

/** The media type of every refusal and fault. */
export const PROBLEM_TYPE = "application/problem+json";

/** One problem answer, ready to be sent. */
export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ProblemWire;
}

/** What callers are told of faults that are not theirs; what happened is in the log under the request id. */
const FAULT_DETAILS: Partial<Record<ErrorCode, string>> = {
  internal: "The service failed. Its log has the cause under this request id.",
  overloaded: "The queue is full. Nothing was accepted; try again later.",
  store_unavailable:
    "The store did not answer. If this was a submit, send it again with the same Idempotency-Key.",
  not_ready: "The service is not ready. Nothing was accepted; try again later.",
  shutting_down: "This process is shutting down. Send the request again.",
};

const DEFAULT_RETRY_AFTER_S = 1;

/** Builds the problem of an error. 4xx texts are the error's own, 5xx texts are constant. */
export function problemAnswer(error: BailiffError, requestId: string): ProblemAnswer {
  const { status, title } = ERROR_TABLE[error.code];
  const headers: Record<string, string> = {};
  if (status === 429 || status === 503) {
    const seconds =
      error.retryAfterMs === null ? DEFAULT_RETRY_AFTER_S : Math.max(1, Math.ceil(error.retryAfterMs / 1000));
    headers["retry-after"] = String(seconds);
  }
  if (status === 401) headers["www-authenticate"] = 'Bearer realm="bailiff"';
  return {
    status,
    headers,
    body: {
      // First, so that no extension can take the place of a member of the problem itself.
      ...(status < 500 ? extensionsToWire(error.extensions) : {}),
      type: `urn:bailiff:problem:${error.code}`,
      title,
      status,
      code: error.code,
      detail: status < 500 ? error.message : (FAULT_DETAILS[error.code] ?? title),
      instance: `urn:bailiff:request:${requestId}`,
      ...(error.faults.length > 0
        ? { errors: error.faults.map(({ path, message }) => ({ path, message })) }
        : {}),
    },
  };
}

function extensionsToWire(extensions: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { decision, ...others } = extensions;
  return decision === undefined ? others : { ...others, decision: decisionToWire(decision as Decision) };
}
