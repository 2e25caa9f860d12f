import type { LayerVerdict } from "./decision.js";

/** What is left of the quotas of tenant and session, the smaller of both; null is without limit. */
export interface BudgetState {
  readonly dispatchesLeft: number | null;
  readonly wallMsLeft: number | null;
  readonly cpuMsLeft: number | null;
  readonly concurrentLeft: number | null;
  readonly queuedLeft: number | null;
  readonly requestsLeft: number | null;
  /** When the first exhausted quota may have room again; null when waiting does not help. */
  readonly retryAfterMs: number | null;
}

/** A budget without any limit. */
export const UNLIMITED_BUDGET: BudgetState = {
  dispatchesLeft: null,
  wallMsLeft: null,
  cpuMsLeft: null,
  concurrentLeft: null,
  queuedLeft: null,
  requestsLeft: null,
  retryAfterMs: null,
};

const QUOTAS = [
  ["requestsLeft", "budget_requests", "the request rate is used up"],
  ["queuedLeft", "budget_queued", "no more commands may be queued"],
  ["concurrentLeft", "budget_concurrent", "no more commands may run at once"],
  ["dispatchesLeft", "budget_dispatches", "the dispatches of the budget are used up"],
  ["wallMsLeft", "budget_wall", "the wall time of the budget is used up"],
  ["cpuMsLeft", "budget_cpu", "the CPU time of the budget is used up"],
] as const;

/** Denies when a quota has nothing left. Reserving is the caller's: this only reads. */
export function budgetVerdict(state: BudgetState): LayerVerdict {
  for (const [quota, code, reason] of QUOTAS) {
    const left = state[quota];
    if (left !== null && !(left > 0)) return { layer: "budget", verdict: "deny", code, reason };
  }
  return { layer: "budget", verdict: "pass", code: "ok", reason: "every quota has room" };
}
