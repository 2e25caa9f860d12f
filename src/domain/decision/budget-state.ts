import type { BudgetState } from "./budget-verdict.js";
import { timeoutForCpuMs } from "./charge.js";
import type { SessionBudget } from "./session-budget.js";

/** Bounds on what one tenant, one session and the whole service have going on; null is no bound. */
export interface Quotas {
  /** Commands that have not started: queued or awaiting approval. */
  readonly tenantQueued: number | null;
  /** Commands in flight: queued or dispatched. Checked at admission, so never more than this run at once. */
  readonly tenantConcurrent: number | null;
  readonly sessionQueued: number | null;
  readonly tenantRequestsPerMinute: number | null;
  readonly totalQueued: number | null;
  /** Per UTC day, and counted to the day of the submit. */
  readonly tenantDispatchesPerDay: number | null;
  readonly tenantWallMsPerDay: number | null;
  readonly tenantCpuMsPerDay: number | null;
}

/** What is going on, as the store counts it. */
export interface BudgetUsage {
  readonly tenantQueued: number;
  readonly tenantInFlight: number;
  readonly sessionQueued: number;
  readonly sessionInFlight: number;
  readonly totalQueued: number;
  /** How far the tenant's requests are ahead of their rate. */
  readonly rateAheadMs: number;
  /** Of the tenant, this UTC day. */
  readonly today: { readonly dispatches: number; readonly wallMs: number; readonly cpuMs: number };
  readonly msUntilTomorrow: number;
}

const RATE_WINDOW_MS = 60_000;
/** When something that is in flight may have ended. */
const SOON_MS = 1_000;

/**
 * What is left for one more command, the smaller of tenant's and session's. Only read: whether there is room is for the
 * admission to say, which reserves in the same step.
 */
export function budgetState(usage: BudgetUsage, quotas: Quotas, session: SessionBudget): BudgetState {
  const left = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
  const { today } = usage;
  const perDay = {
    dispatches: left(quotas.tenantDispatchesPerDay, today.dispatches),
    wallMs: left(quotas.tenantWallMsPerDay, today.wallMs),
    cpuMs: left(quotas.tenantCpuMsPerDay, today.cpuMs),
  };
  const requestsLeft = requestsWithinRate(quotas.tenantRequestsPerMinute, usage.rateAheadMs);
  const queuedLeft = smallest(
    left(quotas.totalQueued, usage.totalQueued),
    left(quotas.tenantQueued, usage.tenantQueued),
    left(quotas.sessionQueued, usage.sessionQueued),
    left(session.queued, usage.sessionQueued),
  );
  const concurrentLeft = smallest(
    left(quotas.tenantConcurrent, usage.tenantInFlight),
    left(session.concurrent, usage.sessionInFlight),
  );
  const isOverForToday = Object.values(perDay).some((rest) => rest === 0);
  const isOverForGood = session.wallMsLeft === 0 || session.cpuMsLeft === 0;
  return {
    dispatchesLeft: perDay.dispatches,
    wallMsLeft: smallest(perDay.wallMs, session.wallMsLeft),
    cpuMsLeft: smallest(perDay.cpuMs, session.cpuMsLeft),
    concurrentLeft,
    queuedLeft,
    requestsLeft,
    retryAfterMs: isOverForGood
      ? null
      : isOverForToday && usage.tenantInFlight === 0
        ? usage.msUntilTomorrow
        : SOON_MS,
  };
}

/** The timeout a command may have: what was asked for, lowered to the time that is left; at least a millisecond. */
export function timeoutWithinBudgetMs(requestedMs: number, nanoCpus: number, state: BudgetState): number {
  return Math.max(
    1,
    smallest(
      requestedMs,
      state.wallMsLeft,
      state.cpuMsLeft === null ? null : timeoutForCpuMs(state.cpuMsLeft, nanoCpus),
    ) ?? requestedMs,
  );
}

function requestsWithinRate(perMinute: number | null, aheadMs: number): number | null {
  if (perMinute === null) return null;
  return Math.max(0, Math.floor((RATE_WINDOW_MS - aheadMs) / (RATE_WINDOW_MS / perMinute) + 1e-9));
}

function smallest(...bounds: readonly (number | null)[]): number | null {
  const known = bounds.filter((bound) => bound !== null);
  return known.length === 0 ? null : Math.min(...known);
}
