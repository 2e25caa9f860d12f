import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { lost } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import type { Session } from "../../../src/domain/session.js";
import type { AdmissionAnswer, AdmissionQuotas } from "../../../src/ports/command-store.js";
import {
  aCompletedResult,
  aRecord,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  IDLE,
  NO_QUOTAS,
  openStoreFixture,
  type StoreFixture,
} from "../../support/redis-fixtures.js";
import { expectConsistent, expectUsageOfRecords } from "../../support/redis-invariants.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";

const DAY_MS = 24 * 3_600_000;
const LOST = unstartedResult(lost("the worker is gone"));

let server: RedisServer;
let fixture: StoreFixture;

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  fixture = await openStoreFixture(server);
});
afterEach(() => fixture.close());

async function createSession(given: Parameters<typeof aSession>[0] = {}): Promise<Session> {
  const session = aSession(given);
  await fixture.sessions.create(session);
  return session;
}

async function submit(
  session: Session,
  charge: { wallMs: number; cpuMs: number },
  quotas: Partial<AdmissionQuotas> = {},
): Promise<{ id: string; answer: AdmissionAnswer }> {
  const record = aRecord(session, { charge });
  const answer = await fixture.commands.admit({
    record,
    idempotency: null,
    quotas: { ...NO_QUOTAS, ...quotas },
    sessionVersion: null,
  });
  return { id: record.id, answer };
}

const times = <T>(n: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: n }, (_, i) => make(i)));
const leftOf = async (session: Session) => (await fixture.sessions.get(session.tenant, session.id))?.budget;
const used = (wallMs: number, cpuMs: number | null) =>
  aCompletedResult({ usage: { wallMs, cpuMs, peakMemoryBytes: null, oomKills: null } });
const tenantUsage = () => fixture.redis.hgetall(`{bailiff:${fixture.deployment}}:tenant:acme:usage`);

describe("a session's budget", () => {
  it.each(["wallMs", "cpuMs"] as const)(
    "never has more of %s reserved than there is, with 50 concurrent submits",
    async (what) => {
      const session = await createSession({ budget: { [`${what}Left`]: 3_500 } });
      const answers = await times(50, () => submit(session, { wallMs: 1_000, cpuMs: 1_000 }));
      const kinds = answers.map(({ answer }) => answer.kind);
      expect(kinds.filter((kind) => kind === "admitted")).toHaveLength(3);
      // Half a second is left: less than the charge, so it is for another decision to ask for less.
      expect(kinds.filter((kind) => kind === "budget_changed")).toHaveLength(47);
      const lowered = await times(50, () => submit(session, { wallMs: 500, cpuMs: 500 }));
      expect(lowered.filter(({ answer }) => answer.kind === "admitted")).toHaveLength(1);
      const exhausted = { kind: "budget_exhausted", budget: what === "wallMs" ? "wall" : "cpu" };
      expect(lowered.filter(({ answer }) => answer.kind === "budget_exhausted")).toHaveLength(49);
      expect((await submit(session, { wallMs: 1, cpuMs: 1 })).answer).toEqual(exhausted);
      await expectConsistent(fixture, { [session.id]: { [what]: 3_500 } });
      await expectUsageOfRecords(fixture);
    },
  );

  it("has less CPU time left than a command on several CPUs needs for a millisecond: nothing is left", async () => {
    const session = await createSession({ budget: { cpuMsLeft: 3 } });
    expect((await submit(session, { wallMs: 1_000, cpuMs: 4_000 })).answer).toEqual({
      kind: "budget_exhausted",
      budget: "cpu",
    });
    expect((await submit(session, { wallMs: 1, cpuMs: 3 })).answer.kind).toBe("admitted");
  });

  it("settles by how a command ended, and once", async () => {
    const session = await createSession({
      grant: { dispatchesLeft: 10 },
      budget: { wallMsLeft: 10_000, cpuMsLeft: 20_000 },
    });
    const charge = { wallMs: 1_000, cpuMs: 2_000 };
    const left = async () => {
      const now = await leftOf(session);
      return [now?.wallMsLeft, now?.cpuMsLeft];
    };
    const run = async (end: (id: string, fence: string) => Promise<unknown>) => {
      const { id } = await submit(session, charge);
      const fence = freshId("fen");
      await claimFor(fixture, id, fence);
      await end(id, fence);
      await end(id, fence);
      return (await fixture.commands.get(id))?.charge;
    };
    const finish = (result: ReturnType<typeof used>) => (id: string, fence: string) =>
      fixture.commands.finish(id, fence, result);

    expect(await run(finish(used(300.2, 70)))).toEqual({ wallMs: 301, cpuMs: 70 });
    expect(await left()).toEqual([9_699, 19_930]);
    // Killed with its grace over the timeout: never more than was reserved.
    expect(await run(finish(used(1_400, 2_500)))).toEqual(charge);
    expect(await left()).toEqual([8_699, 17_930]);
    // Nothing measured it.
    expect(await run(finish(used(400, null)))).toEqual({ wallMs: 400, cpuMs: 2_000 });
    expect(await left()).toEqual([8_299, 15_930]);
    // Nothing proves its end, whatever was measured.
    expect(await run(finish({ ...used(5, 5), outcome: "lost", effect: "unknown" }))).toEqual(charge);
    expect(await left()).toEqual([7_299, 13_930]);
    const orphan = await submit(session, charge);
    await fixture.leases.heartbeat({ workerId: "wrk_dead", engineId: "e", leaseMs: 60_000, status: IDLE });
    await fixture.commands.claim({
      commandId: orphan.id,
      workerId: "wrk_dead",
      fence: "fen_d",
      containerId: "c",
      seen: null,
    });
    await fixture.leases.leave("wrk_dead");
    for (let i = 0; i < 2; i += 1)
      expect(await fixture.leases.declareLost(orphan.id, "fen_d", LOST)).toBe(true);
    expect(await left()).toEqual([6_299, 11_930]);
    // Never started.
    const nothing = { wallMs: 0, cpuMs: 0 };
    expect(await run(finish({ ...CANCELLED, outcome: "denied" }))).toEqual(nothing);
    expect(
      await run(async (id, fence) => {
        await fixture.commands.requestCancel(id, CANCELLED);
        await fixture.commands.giveBack(id, fence);
      }),
    ).toEqual(nothing);
    const queued = await submit(session, charge);
    for (let i = 0; i < 2; i += 1) await fixture.commands.endUnstarted(queued.id, CANCELLED);
    const cancelled = await submit(session, charge);
    for (let i = 0; i < 2; i += 1) await fixture.commands.requestCancel(cancelled.id, CANCELLED);
    expect(await left()).toEqual([6_299, 11_930]);
    // Given back, it holds what it held.
    expect(
      await run(async (id, fence) => {
        await fixture.commands.giveBack(id, fence);
      }),
    ).toEqual(charge);
    await expectConsistent(fixture, { [session.id]: { dispatches: 10, wallMs: 10_000, cpuMs: 20_000 } });
    await expectUsageOfRecords(fixture);
  });

  it("bounds what is in flight and what waits, below the tenant's own bounds", async () => {
    const session = await createSession({ budget: { concurrent: 2, queued: 3 } });
    const charge = { wallMs: 1, cpuMs: 1 };
    const first = await submit(session, charge, { sessionQueued: 100 });
    await submit(session, charge);
    expect((await submit(session, charge)).answer).toMatchObject({
      kind: "quota",
      quota: "sessionConcurrent",
      limit: 2,
    });
    const awaiting = async () => {
      const record = aRecord(session, { state: "awaiting_approval", charge });
      return fixture.commands.admit({ record, idempotency: null, quotas: NO_QUOTAS, sessionVersion: null });
    };
    await fixture.commands.endUnstarted(first.id, CANCELLED);
    await awaiting();
    await awaiting();
    expect(await awaiting()).toMatchObject({ kind: "quota", quota: "sessionQueued", limit: 3 });
    // Another session of the tenant is not bounded by this one's budget.
    expect((await submit(await createSession(), charge)).answer.kind).toBe("admitted");
    await expectConsistent(fixture);
  });
});

describe("a tenant's day", () => {
  const perDay: [keyof AdmissionQuotas, number, { wallMs: number; cpuMs: number }][] = [
    ["tenantDispatchesPerDay", 7, { wallMs: 1, cpuMs: 1 }],
    ["tenantWallMsPerDay", 7_000, { wallMs: 1_000, cpuMs: 1 }],
    ["tenantCpuMsPerDay", 7_000, { wallMs: 1, cpuMs: 1_000 }],
  ];
  it.each(perDay)(
    "takes no more than %s permits of 50 concurrent submits of two sessions",
    async (quota, limit, charge) => {
      const sessions = [await createSession(), await createSession()];
      const answers = await times(50, (i) =>
        submit(sessions[i % 2] ?? aSession(), charge, { [quota]: limit }),
      );
      expect(answers.filter(({ answer }) => answer.kind === "admitted")).toHaveLength(7);
      for (const { answer } of answers) {
        if (answer.kind === "admitted") continue;
        // Seven are in flight, and may give back what they do not use.
        expect(answer).toMatchObject({ kind: "quota", quota, limit, retryAfterMs: 1_000 });
      }
      await expectUsageOfRecords(fixture);
    },
  );

  it("asks to wait for the next one once nothing in flight can give anything back", async () => {
    const session = await createSession();
    const quotas = { tenantDispatchesPerDay: 1 };
    const { id } = await submit(session, { wallMs: 1, cpuMs: 1 }, quotas);
    await claimFor(fixture, id, "fen_a");
    await fixture.commands.finish(id, "fen_a", aCompletedResult());
    const { answer } = await submit(session, { wallMs: 1, cpuMs: 1 }, quotas);
    if (answer.kind !== "quota") throw new Error(answer.kind);
    const untilMidnightMs = DAY_MS - (Date.now() % DAY_MS);
    expect(Math.abs(answer.retryAfterMs - untilMidnightMs)).toBeLessThan(60_000);
    const usage = await fixture.commands.usage("acme", session.id);
    expect(usage.today).toEqual({ dispatches: 1, wallMs: 1, cpuMs: 1 });
    expect(Math.abs(usage.msUntilTomorrow - untilMidnightMs)).toBeLessThan(60_000);
  });

  it("begins with nothing used, and what ends then gives nothing back to it", async () => {
    const session = await createSession();
    const yesterday = await submit(session, { wallMs: 1_000, cpuMs: 1_000 });
    await claimFor(fixture, yesterday.id, "fen_a");
    const prefix = `{bailiff:${fixture.deployment}}`;
    const day = Math.floor(Date.now() / DAY_MS) - 1;
    await fixture.redis.hset(`${prefix}:tenant:acme:usage`, "day", day);
    await fixture.redis.hset(`${prefix}:cmd:${yesterday.id}`, "usageDay", day);
    expect((await fixture.commands.usage("acme", session.id)).today).toEqual({
      dispatches: 0,
      wallMs: 0,
      cpuMs: 0,
    });
    const quotas = { tenantDispatchesPerDay: 1, tenantWallMsPerDay: 1_000, tenantCpuMsPerDay: 1_000 };
    expect((await submit(session, { wallMs: 1_000, cpuMs: 1_000 }, quotas)).answer.kind).toBe("admitted");
    await fixture.commands.finish(yesterday.id, "fen_a", used(1, 1));
    expect(await tenantUsage()).toMatchObject({ dispatches: "1", wallMs: "1000", cpuMs: "1000" });
  });

  it("does not begin again for a clock that goes back", async () => {
    const session = await createSession();
    await submit(session, { wallMs: 1, cpuMs: 1 });
    const tomorrow = Math.floor(Date.now() / DAY_MS) + 1;
    await fixture.redis.hset(`{bailiff:${fixture.deployment}}:tenant:acme:usage`, "day", tomorrow);
    const { answer } = await submit(session, { wallMs: 1, cpuMs: 1 }, { tenantDispatchesPerDay: 1 });
    expect(answer).toMatchObject({ kind: "quota", quota: "tenantDispatchesPerDay" });
  });

  it("keeps a tenant's use though its session is removed, and gives back what never started", async () => {
    const session = await createSession();
    const ran = await submit(session, { wallMs: 1_000, cpuMs: 1_000 });
    await claimFor(fixture, ran.id, "fen_a");
    const waiting = await submit(session, { wallMs: 1_000, cpuMs: 1_000 });
    await fixture.sessions.remove("acme", session.id);
    await fixture.commands.endUnstarted(waiting.id, CANCELLED);
    await fixture.commands.finish(ran.id, "fen_a", used(10, 20));
    expect(await tenantUsage()).toMatchObject({ dispatches: "1", wallMs: "10", cpuMs: "20" });
    await expectUsageOfRecords(fixture);
  });
});

it("keeps every sum exact and within its bound, whatever many actors do at once", async () => {
  const LIMIT = { wallMs: 5_000, cpuMs: 7_000 };
  const act = fc.record({
    kind: fc.constantFrom(
      "submit",
      "submit",
      "submit",
      "claim",
      "finish",
      "lost",
      "cancel",
      "end",
      "give_back",
      "revoke",
    ),
    nth: fc.nat({ max: 5 }),
    wallMs: fc.integer({ min: 1, max: 2_500 }),
    cpuMs: fc.integer({ min: 1, max: 4_000 }),
    fence: fc.constantFrom("fen_a", "fen_b"),
  });
  const own = await openStoreFixture(server);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(act, { minLength: 2, maxLength: 12 }), { minLength: 1, maxLength: 5 }),
      async (rounds) => {
        const session = aSession({
          tenant: freshId("key"),
          grant: { dispatchesLeft: 8 },
          budget: { wallMsLeft: LIMIT.wallMs, cpuMsLeft: LIMIT.cpuMs },
        });
        await own.sessions.create(session);
        const workerId = freshId("wrk");
        const ids: string[] = [];
        for (const round of rounds) {
          await Promise.all(
            round.map(async ({ kind, nth, wallMs, cpuMs, fence }) => {
              const id = ids[nth % Math.max(1, ids.length)] ?? "";
              if (kind === "submit") {
                const record = aRecord(session, { charge: { wallMs, cpuMs } });
                const { kind: answer } = await own.commands.admit({
                  record,
                  idempotency: null,
                  quotas: { ...NO_QUOTAS, tenantDispatchesPerDay: 6, tenantWallMsPerDay: 6_000 },
                  sessionVersion: null,
                });
                if (answer === "admitted") ids.push(record.id);
              }
              if (kind === "claim") {
                await own.leases.heartbeat({ workerId, engineId: "e", leaseMs: 60_000, status: IDLE });
                await own.commands.claim({ commandId: id, workerId, fence, containerId: "c", seen: null });
              }
              if (kind === "finish") await own.commands.finish(id, fence, used(wallMs, cpuMs));
              if (kind === "lost") {
                await own.leases.leave(workerId);
                await own.leases.declareLost(id, fence, LOST);
              }
              if (kind === "cancel") await own.commands.requestCancel(id, CANCELLED);
              if (kind === "end") await own.commands.endUnstarted(id, CANCELLED);
              if (kind === "give_back") await own.commands.giveBack(id, fence);
              if (kind === "revoke" && nth === 0) await own.sessions.revoke(session.tenant, session.id);
            }),
          );
          const now = await own.sessions.get(session.tenant, session.id);
          expect(now?.budget.wallMsLeft).toBeGreaterThanOrEqual(0);
          expect(now?.budget.cpuMsLeft).toBeGreaterThanOrEqual(0);
          expect(now?.grant.dispatchesLeft).toBeGreaterThanOrEqual(0);
          const { today } = await own.commands.usage(session.tenant, session.id);
          expect(today.dispatches).toBeLessThanOrEqual(6);
          expect(today.wallMs).toBeLessThanOrEqual(6_000);
          const records = await Promise.all(ids.map((id) => own.commands.get(id)));
          const sum = (what: "wallMs" | "cpuMs") =>
            records.reduce((all, each) => all + (each?.charge?.[what] ?? 0), 0);
          expect(now?.budget.wallMsLeft).toBe(LIMIT.wallMs - sum("wallMs"));
          expect(now?.budget.cpuMsLeft).toBe(LIMIT.cpuMs - sum("cpuMs"));
        }
      },
    ),
    { numRuns: 60 },
  );
  await expectUsageOfRecords(own);
  await expectConsistent(own);
  await own.close();
});
