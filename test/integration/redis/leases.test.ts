import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  admitQueued,
  aSession,
  freshId,
  openStoreFixture,
  type StoreFixture,
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

const beat = (workerId: string, engineId: string, nowMs: number) =>
  fixture.leases.heartbeat({ workerId, engineId, leaseMs: 1_000, nowMs });

describe("leases", () => {
  it("hold until their time and no longer, and name the engines in use", async () => {
    const nowMs = Date.now();
    await beat("wrk_a", "engine-1", nowMs);
    await beat("wrk_b", "engine-2", nowMs + 500);
    expect(await fixture.leases.isAlive("wrk_a", nowMs + 999)).toBe(true);
    expect(await fixture.leases.isAlive("wrk_a", nowMs + 1_000)).toBe(false);
    expect(await fixture.leases.liveEngines(nowMs + 999)).toEqual(new Set(["engine-1", "engine-2"]));
    expect(await fixture.leases.liveEngines(nowMs + 1_000)).toEqual(new Set(["engine-2"]));
    await fixture.leases.leave("wrk_b");
    expect(await fixture.leases.isAlive("wrk_b", nowMs)).toBe(false);
    expect(await fixture.leases.liveEngines(nowMs + 1_000)).toEqual(new Set());
  });

  it("leave behind what their worker had dispatched, with its engine, also after an orderly end", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    const nowMs = Date.now();
    await beat("wrk_a", "engine-1", nowMs);
    await beat("wrk_b", "engine-2", nowMs);
    const dispatched: string[] = [];
    for (const workerId of ["wrk_a", "wrk_a", "wrk_b"]) {
      const { record } = await admitQueued(fixture, session);
      const fence = freshId("fen");
      await fixture.commands.claim({ commandId: record.id, workerId, fence, containerId: "c", nowMs });
      dispatched.push(record.id);
    }
    await fixture.leases.leave("wrk_a");
    const orphans = await fixture.leases.orphaned(nowMs, 10);
    expect(orphans.map((each) => [each.record.id, each.engineId])).toEqual([
      [dispatched[0], "engine-1"],
      [dispatched[1], "engine-1"],
    ]);
    expect(await fixture.leases.orphaned(nowMs, 1)).toHaveLength(1);
  });

  it("of workers long gone are forgotten", async () => {
    const nowMs = Date.now();
    await beat("wrk_old", "engine-1", nowMs - 2 * 24 * 3_600_000);
    await beat("wrk_new", "engine-2", nowMs);
    const prefix = `{bailiff:${fixture.deployment}}`;
    expect(await fixture.redis.zrange(`${prefix}:leases`, 0, -1)).toEqual(["wrk_new"]);
    expect(await fixture.redis.hkeys(`${prefix}:engines`)).toEqual(["wrk_new"]);
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
