import type { ProblemWire } from "../contract/problems.js";

/** The stable codes of the service's refusals and faults. */
export type ErrorCode = ProblemWire["code"];

const PASSING: ReadonlySet<string> = new Set<ErrorCode>([
  "quota_exceeded",
  "rate_limited",
  "overloaded",
  "store_unavailable",
  "not_ready",
  "shutting_down",
  "internal",
]);

/** Whether a refusal of this code passes by itself. Not among them, whatever its status: a denial. */
export function passesByItself(code: string): boolean {
  return PASSING.has(code);
}

/** The service's word that it did not do what was asked. Decide by `code`; the texts are not stable. */
export class BailiffProblem extends Error {
  override readonly name = "BailiffProblem";
  readonly code: ErrorCode;
  readonly status: number;
  /** The whole document; of a denial it holds `decision` and `command_id`. */
  readonly problem: ProblemWire;
  /** After which time the service asks to come back; null where it does not. */
  readonly retryAfterMs: number | null;
  constructor(problem: ProblemWire, status: number, retryAfterMs: number | null) {
    const faults = (problem.errors ?? []).map(({ path, message }) => `${path}: ${message}`);
    super([problem.detail ?? problem.title ?? problem.code, ...faults].join("; "));
    this.code = problem.code;
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Nothing that counts as an answer came: whether the service did what was asked is not known. `unreachable`: the connection
 * failed or broke; `timeout`: the time was over; `unexpected`: something else than this service answered.
 */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  readonly reason: "unreachable" | "timeout" | "unexpected";
  /** Of an `unexpected` answer. */
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  /** Of a submit: to submit the same with this key finds the command, or admits it once. */
  readonly idempotencyKey: string | null;
  constructor(
    reason: NoAnswer["reason"],
    message: string,
    more: {
      readonly status?: number;
      readonly retryAfterMs?: number | null;
      readonly idempotencyKey?: string | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.reason = reason;
    this.status = more.status ?? null;
    this.retryAfterMs = more.retryAfterMs ?? null;
    this.idempotencyKey = more.idempotencyKey ?? null;
  }
}

/** Does the work of one submit, so that whoever gets no answer is told the key that finds its command. */
export async function withIdempotencyKey<T>(key: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const { reason, message, status, retryAfterMs, cause } = error;
    throw new NoAnswer(reason, message, {
      ...(status === null ? {} : { status }),
      retryAfterMs,
      idempotencyKey: key,
      cause,
    });
  }
}
