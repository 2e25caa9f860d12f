import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BudgetUsage,
  budgetState,
  type Quotas,
  timeoutWithinBudgetMs,
} from "../../../../src/domain/decision/budget-state.js";
import { budgetVerdict, UNLIMITED_BUDGET } from "../../../../src/domain/decision/budget-verdict.js";
import { chargeFor, usedTime } from "../../../../src/domain/decision/charge.js";
import { UNBOUNDED_SESSION } from "../../../../src/domain/decision/session-budget.js";
import { aCompletedResult } from "../../../support/redis-fixtures.js";

const IDLE: BudgetUsage = {
  tenantQueued: 0,
  tenantInFlight: 0,
  sessionQueued: 0,
  sessionInFlight: 0,
  totalQueued: 0,
  rateAheadMs: 0,
  today: { dispatches: 0, wallMs: 0, cpuMs: 0 },
  msUntilTomorrow: 5_000_000,
};
const NO_BOUNDS: Quotas = {
  tenantQueued: null,
  tenantConcurrent: null,
  sessionQueued: null,
  tenantRequestsPerMinute: null,
  totalQueued: null,
  tenantDispatchesPerDay: null,
  tenantWallMsPerDay: null,
  tenantCpuMsPerDay: null,
};

describe("what is left", () => {
  test("is without limit where nothing is bounded", () => {
    expect(budgetState(IDLE, NO_BOUNDS, UNBOUNDED_SESSION)).toMatchObject({
      ...UNLIMITED_BUDGET,
      retryAfterMs: expect.any(Number),
    });
  });

  test("is the smaller of what tenant, session and service leave", () => {
    const usage = {
      ...IDLE,
      tenantQueued: 3,
      sessionQueued: 2,
      totalQueued: 9,
      tenantInFlight: 4,
      sessionInFlight: 1,
      today: { dispatches: 10, wallMs: 2_000, cpuMs: 500 },
    };
    const quotas = {
      ...NO_BOUNDS,
      tenantQueued: 10,
      sessionQueued: 7,
      totalQueued: 11,
      tenantConcurrent: 5,
      tenantDispatchesPerDay: 12,
      tenantWallMsPerDay: 10_000,
      tenantCpuMsPerDay: 1_000,
    };
    const session = { ...UNBOUNDED_SESSION, wallMsLeft: 900, cpuMsLeft: 70_000, concurrent: 8, queued: 3 };
    expect(budgetState(usage, quotas, session)).toEqual({
      dispatchesLeft: 2,
      wallMsLeft: 900,
      cpuMsLeft: 500,
      concurrentLeft: 1,
      queuedLeft: 1,
      requestsLeft: null,
      retryAfterMs: 1_000,
    });
  });

  test("of the rate is what the next minute takes at once", () => {
    const requestsLeft = (rateAheadMs: number) =>
      budgetState({ ...IDLE, rateAheadMs }, { ...NO_BOUNDS, tenantRequestsPerMinute: 60 }, UNBOUNDED_SESSION)
        .requestsLeft;
    expect([0, 1, 59_000, 59_001, 70_000].map(requestsLeft)).toEqual([60, 59, 1, 0, 0]);
  });

  test("comes back with what is in flight, with the next day, or never", () => {
    const quotas = { ...NO_BOUNDS, tenantWallMsPerDay: 10 };
    const today = { dispatches: 1, wallMs: 10, cpuMs: 0 };
    const retryAfterMs = (more: Partial<BudgetUsage>, session = UNBOUNDED_SESSION) =>
      budgetState({ ...IDLE, ...more }, quotas, session).retryAfterMs;
    expect(retryAfterMs({ today, tenantInFlight: 1 })).toBe(1_000);
    expect(retryAfterMs({ today })).toBe(5_000_000);
    expect(retryAfterMs({ today }, { ...UNBOUNDED_SESSION, cpuMsLeft: 0 })).toBeNull();
  });

  test.each([
    ["budget_requests", { rateAheadMs: 60_000 }, { tenantRequestsPerMinute: 1 }, {}],
    ["budget_queued", { totalQueued: 1 }, { totalQueued: 1 }, {}],
    ["budget_queued", { sessionQueued: 1 }, {}, { queued: 1 }],
    ["budget_concurrent", { sessionInFlight: 1 }, {}, { concurrent: 1 }],
    ["budget_dispatches", { today: { ...IDLE.today, dispatches: 1 } }, { tenantDispatchesPerDay: 1 }, {}],
    ["budget_wall", {}, {}, { wallMsLeft: 0 }],
    ["budget_cpu", { today: { ...IDLE.today, cpuMs: 9 } }, { tenantCpuMsPerDay: 8 }, {}],
  ])("denies with %s when it is nothing", (code, usage, quotas, session) => {
    const state = budgetState(
      { ...IDLE, ...usage },
      { ...NO_BOUNDS, ...quotas },
      { ...UNBOUNDED_SESSION, ...session },
    );
    expect(budgetVerdict(state)).toMatchObject({ verdict: "deny", code });
  });
});

test("a lowered timeout is above nothing, at most what was asked for, and its charge fits into what is left", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300_000 }),
      fc.integer({ min: 10_000_000, max: 64_000_000_000 }),
      fc.option(fc.integer({ min: 1, max: 400_000 })),
      fc.option(fc.integer({ min: 0, max: 400_000 })),
      (askedMs, nanoCpus, wallMsLeft, spareCpuMs) => {
        const leastCpuMs = Math.ceil(nanoCpus / 1e9);
        const cpuMsLeft = spareCpuMs === null ? null : spareCpuMs + leastCpuMs;
        const timeoutMs = timeoutWithinBudgetMs(askedMs, nanoCpus, {
          ...UNLIMITED_BUDGET,
          wallMsLeft,
          cpuMsLeft,
        });
        expect(timeoutMs).toBeGreaterThanOrEqual(1);
        expect(timeoutMs).toBeLessThanOrEqual(askedMs);
        const charge = chargeFor(timeoutMs, nanoCpus);
        expect(charge.wallMs).toBeLessThanOrEqual(wallMsLeft ?? Infinity);
        expect(charge.cpuMs).toBeLessThanOrEqual(cpuMsLeft ?? Infinity);
      },
    ),
  );
});

test("what was used is whole milliseconds, and all that was reserved where nothing measured or proves it", () => {
  const usage = { wallMs: 1.2, cpuMs: 0, peakMemoryBytes: null, oomKills: null };
  expect(usedTime(aCompletedResult({ usage }))).toEqual({ wallMs: 2, cpuMs: 0 });
  expect(usedTime(aCompletedResult({ usage: { ...usage, cpuMs: null } }))).toEqual({
    wallMs: 2,
    cpuMs: null,
  });
  const nothing = { wallMs: null, cpuMs: null };
  expect(usedTime(aCompletedResult({ usage: null }))).toEqual(nothing);
  expect(usedTime(aCompletedResult({ usage, outcome: "lost", effect: "unknown" }))).toEqual(nothing);
});
