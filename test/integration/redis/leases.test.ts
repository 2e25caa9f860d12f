import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createReconcileCommands } from "../../../src/app/recovery/reconcile-commands.js";
import { createWorkerServices } from "../../../src/app/worker-services.js";
import { lost } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import {
  aCompletedResult,
  admitQueued,
  aSession,
  freshId,
  IDLE,
  openStoreFixture,
  type StoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

let server: RedisServer;
let fixture: StoreFixture;

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  fixture = await openStoreFixture(server);
  await fixture.leases.leave(fixture.workerId);
});
afterEach(() => fixture.close());

/** A lease of no length is over when it begins. */
const beat = (workerId: string, engineId: string, leaseMs = 60_000) =>
  fixture.leases.heartbeat({ workerId, engineId, leaseMs, status: IDLE });

describe("leases", () => {
  it("hold until their time and no longer, and name the engines in use", async () => {
    await beat("wrk_a", "engine-1", 300);
    await beat("wrk_b", "engine-2");
    expect(await fixture.leases.isAlive("wrk_a")).toBe(true);
    expect(await fixture.leases.liveEngines()).toEqual(new Set(["engine-1", "engine-2"]));
    await until(async () => !(await fixture.leases.isAlive("wrk_a")));
    expect(await fixture.leases.liveEngines()).toEqual(new Set(["engine-2"]));
    await fixture.leases.leave("wrk_b");
    expect(await fixture.leases.isAlive("wrk_b")).toBe(false);
    expect(await fixture.leases.liveEngines()).toEqual(new Set());
  });

  it("leave behind what their worker had dispatched, with its engine, also after an orderly end", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    await beat("wrk_a", "engine-1");
    await beat("wrk_b", "engine-2");
    const dispatched: string[] = [];
    for (const workerId of ["wrk_a", "wrk_a", "wrk_b"]) {
      const { record } = await admitQueued(fixture, session);
      await fixture.commands.claim({
        commandId: record.id,
        workerId,
        fence: freshId("fen"),
        containerId: "c",
        seen: null,
      });
      dispatched.push(record.id);
    }
    await fixture.leases.leave("wrk_a");
    const orphans = await fixture.leases.orphaned(10);
    expect(orphans.map((each) => [each.record.id, each.engineId])).toEqual([
      [dispatched[0], "engine-1"],
      [dispatched[1], "engine-1"],
    ]);
    expect(await fixture.leases.orphaned(1)).toHaveLength(1);
  });

  it("do not keep what was dispatched longer ago than anything may take, whose end was written and lost", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    await beat("wrk_a", "engine-1");
    const [old, recent] = await Promise.all([admitQueued(fixture, session), admitQueued(fixture, session)]);
    for (const { record } of [old, recent]) {
      const claim = { commandId: record.id, workerId: "wrk_a", containerId: "c", seen: null };
      await fixture.commands.claim({ ...claim, fence: `fen_${record.id}` });
    }
    const HOUR_MS = 3_600_000;
    const prefix = `{bailiff:${fixture.deployment}}`;
    await fixture.redis.hincrby(`${prefix}:cmd:${old.record.id}`, "dispatchedAtMs", -2 * HOUR_MS);
    await fixture.redis.zincrby(`${prefix}:dispatched`, -2 * HOUR_MS, old.record.id);
    expect(await fixture.leases.orphaned(10)).toEqual([]);
    const found = await fixture.leases.orphaned(10, HOUR_MS);
    expect(found.map(({ record, isOverdue }) => [record.id, isOverdue])).toEqual([[old.record.id, true]]);
    const verdict = unstartedResult(lost("its end was lost"));
    for (const { record } of [old, recent]) {
      const fence = `fen_${record.id}`;
      expect(await fixture.leases.declareLost(record.id, fence, verdict)).toBe(false);
      const isOld = record.id === old.record.id;
      expect(await fixture.leases.declareLost(record.id, fence, verdict, HOUR_MS)).toBe(isOld);
      expect(await fixture.commands.finish(record.id, fence, aCompletedResult())).toBe(!isOld);
    }
    expect((await fixture.commands.get(old.record.id))?.result?.outcome).toBe("lost");
  });

  it("of workers long gone are forgotten", async () => {
    await beat("wrk_old", "engine-1", -2 * 24 * 3_600_000);
    await beat("wrk_new", "engine-2");
    const prefix = `{bailiff:${fixture.deployment}}`;
    expect(await fixture.redis.zrange(`${prefix}:leases`, 0, -1)).toEqual(["wrk_new"]);
    expect(await fixture.redis.hkeys(`${prefix}:engines`)).toEqual(["wrk_new"]);
    expect(await fixture.redis.hkeys(`${prefix}:workers`)).toEqual(["wrk_new"]);
  });

  it("make one leader of many, until it stops renewing", async () => {
    const holders = Array.from({ length: 20 }, (_, i) => `holder-${i}`);
    const answers = await Promise.all(holders.map((holder) => fixture.leases.lead("sweep", holder, 400)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    const leader = holders[answers.indexOf(true)] ?? "";
    expect(await fixture.leases.lead("sweep", leader, 400)).toBe(true);
    expect(await fixture.leases.lead("sweep", "another", 400)).toBe(false);
    expect(await fixture.leases.lead("reconcile", "another", 400)).toBe(true);
    await until(() => fixture.leases.lead("sweep", "another", 400));
  });
});

describe("workers, as their leases show them", () => {
  it("keep their beginning, show what they said last, and tell a silent one from one that ended in order", async () => {
    const { leases } = fixture;
    await beat("wrk_silent", "engine-1", -1_000);
    await leases.heartbeat({ workerId: "wrk_a", engineId: "engine-1", leaseMs: 30_000, status: IDLE });
    const [first] = await leases.workers(1);
    const status = {
      ...IDLE,
      host: 'h\u202e {"1"} 2 3',
      pools: ["gpu", "default"],
      running: 3,
      isDraining: true,
    };
    await until(async () => {
      await leases.heartbeat({ workerId: "wrk_a", engineId: "engine-1", leaseMs: 60_000, status });
      return ((await leases.workers(1))[0]?.renewedAtMs ?? 0) > (first?.renewedAtMs ?? 0);
    });
    const [latest, silent, ...others] = await leases.workers(10);
    expect(others).toEqual([]);
    expect(latest).toEqual({
      workerId: "wrk_a",
      status,
      startedAtMs: first?.renewedAtMs,
      renewedAtMs: latest?.renewedAtMs,
      holdsLease: true,
    });
    expect(Math.abs((latest?.renewedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
    expect([silent?.workerId, silent?.holdsLease]).toEqual(["wrk_silent", false]);
    await leases.leave("wrk_a");
    expect((await leases.workers(10)).map(({ workerId }) => workerId)).toEqual(["wrk_silent"]);
  });

  it("are shown with their queues and all commands by the same number of calls, however many they are", async () => {
    const services = createWorkerServices({ ...fixture, pools: () => ["gpu", "default", "gpu"] });
    const admin = {
      id: "ops",
      tenant: "acme",
      scopes: new Set(["admin" as const]),
      method: "api_key" as const,
    };
    const session = aSession();
    await fixture.sessions.create(session);
    const ask = async () => {
      const before = await callsServed();
      return { fleet: await services.workers(admin), calls: (await callsServed()) - before };
    };
    await beat("wrk_0", "engine-1");
    const few = await ask();
    expect(few.fleet.workers).toHaveLength(1);
    for (let i = 1; i < 50; i += 1) await beat(`wrk_${i}`, "engine-1");
    for (let i = 0; i < 3; i += 1) {
      const { record, priority } = await admitQueued(fixture, session);
      await fixture.queue.enqueue("default", { commandId: record.id, priority });
    }
    const many = await ask();
    expect(many.fleet.workers).toHaveLength(50);
    expect(many.calls).toBe(few.calls);
    const none = { waiting: 0, prioritized: 0, active: 0, delayed: 0 };
    expect(many.fleet.queues).toEqual([
      { ...none, pool: "default", prioritized: 3, workers: 50 },
      { ...none, pool: "gpu", workers: 0 },
    ]);
    expect(many.fleet.commands).toEqual({ awaiting_approval: 0, queued: 3, dispatched: 0 });
    const agent = { ...admin, scopes: new Set(["commands:read" as const]) };
    await expect(services.workers(agent)).rejects.toMatchObject({ code: "insufficient_scope" });
  });

  const callsServed = async (): Promise<number> => {
    const stats = await fixture.redis.info("stats");
    return Number(/total_commands_processed:(\d+)/.exec(stats)?.[1]);
  };
});

describe("clocks that disagree", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const HOURS_MS = 3 * 3_600_000;
  /** From here on this process takes it to be another time: it is the host with the wrong clock. */
  const skewBy = (ms: number) => {
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
  };
  /** A reconciler beside another engine, where it can find no container. */
  const reconcilerElsewhere = () =>
    createReconcileCommands({
      leases: fixture.leases,
      queue: fixture.queue,
      deadWorkers: {
        renewed: () => undefined,
        notRenewed: () => undefined,
        isDead: async (workerId) => !(await fixture.leases.isAlive(workerId)),
      },
      engine: { engineId: "engine-elsewhere", runtime: { remove: async () => undefined } },
      workerId: null,
      claimToSendMs: 3_000,
      graceMs: 2_000,
      overdueMs: 24 * 3_600_000,
      clock: { nowMs: () => Date.now() },
      log: silentLog,
      metrics: silentMetrics,
    });
  const verdict = unstartedResult(lost("the worker is gone"));

  it.each([
    ["behind", "ahead", -HOURS_MS, HOURS_MS],
    ["ahead", "behind", HOURS_MS, -HOURS_MS],
  ])(
    "make no orphan of a living worker that is %s where the looking one is %s (FB-43)",
    async (_worker, _other, workerSkewMs, otherSkewMs) => {
      const session = aSession();
      await fixture.sessions.create(session);
      const { record } = await admitQueued(fixture, session);
      skewBy(workerSkewMs);
      await beat("wrk_a", "engine-1");
      const claim = await fixture.commands.claim({
        commandId: record.id,
        workerId: "wrk_a",
        fence: "fen_a",
        containerId: "c",
        seen: null,
      });
      expect(claim.kind).toBe("claimed");
      skewBy(otherSkewMs);
      await beat("wrk_b", "engine-2");
      expect(await fixture.leases.isAlive("wrk_a")).toBe(true);
      expect(await fixture.leases.liveEngines()).toEqual(new Set(["engine-1", "engine-2"]));
      expect(await fixture.leases.orphaned(10)).toEqual([]);
      expect(await fixture.leases.declareLost(record.id, "fen_a", verdict)).toBe(false);
      expect(await reconcilerElsewhere()()).toEqual({ lost: 0, requeued: 0 });
      skewBy(workerSkewMs);
      expect(await fixture.commands.finish(record.id, "fen_a", aCompletedResult())).toBe(true);
      vi.useRealTimers();
      const ended = await fixture.commands.get(record.id);
      expect(Math.abs((ended?.finishedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
      expect(ended?.finishedAtMs).toBeGreaterThanOrEqual(ended?.dispatchedAtMs ?? Infinity);
    },
  );

  it.each([-HOURS_MS, HOURS_MS])(
    "leave a command of a dead engine its whole time, at a skew of %i ms",
    async (skewMs) => {
      const session = aSession();
      await fixture.sessions.create(session);
      const { record } = await admitQueued(fixture, session);
      await beat("wrk_a", "engine-1");
      skewBy(skewMs);
      await fixture.commands.claim({
        commandId: record.id,
        workerId: "wrk_a",
        fence: "fen_a",
        containerId: "c",
        seen: null,
      });
      await fixture.leases.leave("wrk_a");
      const [orphan] = await fixture.leases.orphaned(10);
      expect(orphan?.dispatchedForMs).toBeLessThan(60_000);
      expect(await reconcilerElsewhere()()).toEqual({ lost: 0, requeued: 0 });
      // As it stands once the command's own time is over.
      await fixture.redis.hincrby(
        `{bailiff:${fixture.deployment}}:cmd:${record.id}`,
        "dispatchedAtMs",
        -record.request.timeoutMs - 60_000,
      );
      expect(await reconcilerElsewhere()()).toEqual({ lost: 1, requeued: 0 });
    },
  );
});
