import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createBullmqQueueConsumer } from "../../../src/adapters/redis/bullmq-queue-consumer.js";
import { lost } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import {
  aCompletedResult,
  admitQueued,
  aRecord,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  IDLE,
  NO_QUOTAS,
  openStoreFixture,
  type StoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";

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

describe("the life of a command in Redis", () => {
  it("leads from admission over the queue and the claim to a result that a waiter gets whole", async () => {
    const { commands, sessions, queue, workerId } = fixture;
    const session = aSession({ grant: { dispatchesLeft: 5 } });
    await sessions.create(session);
    const { record, priority } = await admitQueued(fixture, session);
    expect(await commands.get(record.id)).toEqual(record);
    const result = aCompletedResult();
    const consumer = createBullmqQueueConsumer({
      endpoint: { url: server.url },
      deployment: fixture.deployment,
      pool: "default",
      concurrency: 2,
      log: silentLog,
      metrics: silentMetrics,
    });
    await consumer.start(async (commandId) => {
      const fence = freshId("fen");
      const claim = await commands.claim({
        commandId,
        workerId,
        fence,
        containerId: "c1",
        seen: null,
      });
      expect(claim.kind).toBe("claimed");
      expect(await commands.finish(commandId, fence, result)).toBe(true);
      return "done";
    });
    const waiting = commands.waitForEnd(record.id, 20_000, new AbortController().signal);
    await queue.enqueue("default", { commandId: record.id, priority });
    const ended = await waiting;
    expect(ended).toEqual({
      ...record,
      state: "finished",
      fence: ended?.fence,
      workerId,
      containerId: "c1",
      dispatchedAtMs: ended?.dispatchedAtMs,
      finishedAtMs: ended?.finishedAtMs,
      charge: { wallMs: 5, cpuMs: 1 },
      result,
    });
    expect(ended?.dispatchedAtMs).toBeGreaterThanOrEqual(record.createdAtMs);
    expect(ended?.finishedAtMs).toBeGreaterThanOrEqual(ended?.dispatchedAtMs ?? Infinity);
    expect((await sessions.get("acme", session.id))?.grant.dispatchesLeft).toBe(4);
    await consumer.drain();
    await consumer.close();
    expect(await queue.depth("default")).toEqual({ waiting: 0, active: 0 });
  });

  it("gives exactly one of 50 claimers the dispatch", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    const claims = await Promise.all(Array.from({ length: 50 }, () => claimFor(fixture, record.id)));
    expect(claims.filter((claim) => claim.kind === "claimed")).toHaveLength(1);
    expect(claims.filter((claim) => claim.kind === "not_queued")).toHaveLength(49);
  });

  it("answers a repeated claim and a repeated finish of one fence as it did the first time", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    const first = await claimFor(fixture, record.id, "fen_a");
    expect(await claimFor(fixture, record.id, "fen_a")).toEqual(first);
    expect((await claimFor(fixture, record.id, "fen_b")).kind).toBe("not_queued");
    const result = aCompletedResult();
    expect(await fixture.commands.finish(record.id, "fen_b", result)).toBe(false);
    expect(await fixture.commands.finish(record.id, "fen_a", result)).toBe(true);
    expect(await fixture.commands.finish(record.id, "fen_a", aCompletedResult({ returncode: 9 }))).toBe(true);
    expect((await fixture.commands.get(record.id))?.result).toEqual(result);
  });

  it("refuses a claim without a lease, and one by a worker whose lease is over", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    const claim = {
      commandId: record.id,
      workerId: "wrk_none",
      fence: "fen_a",
      containerId: "c",
      seen: null,
    };
    const lease = { workerId: "wrk_none", engineId: "e" };
    expect(await fixture.commands.claim(claim)).toEqual({ kind: "no_lease" });
    await fixture.leases.heartbeat({ ...lease, leaseMs: -1, status: IDLE });
    expect(await fixture.commands.claim(claim)).toEqual({ kind: "no_lease" });
    await fixture.leases.heartbeat({ ...lease, leaseMs: 60_000, status: IDLE });
    expect((await fixture.commands.claim(claim)).kind).toBe("claimed");
  });

  it("does not let a worker overwrite the verdict that was given while its lease was gone (FB-43)", async () => {
    const { commands, leases, sessions } = fixture;
    const session = aSession();
    await sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    const lease = { workerId: "wrk_x", engineId: "engine-x" };
    await leases.heartbeat({ ...lease, leaseMs: 60_000, status: IDLE });
    await commands.claim({
      commandId: record.id,
      workerId: "wrk_x",
      fence: "fen_x",
      containerId: "c",
      seen: null,
    });
    const verdict = unstartedResult(lost("the worker is gone"));
    expect(await leases.orphaned(10)).toEqual([]);
    expect(await leases.declareLost(record.id, "fen_x", verdict)).toBe(false);
    await leases.heartbeat({ ...lease, leaseMs: -1, status: IDLE });
    const orphans = await leases.orphaned(10);
    expect(orphans.map((each) => [each.record.id, each.engineId])).toEqual([[record.id, "engine-x"]]);
    expect(await leases.declareLost(record.id, "fen_other", verdict)).toBe(false);
    expect(await leases.declareLost(record.id, "fen_x", verdict)).toBe(true);
    expect(await commands.finish(record.id, "fen_x", aCompletedResult())).toBe(false);
    expect((await commands.get(record.id))?.result).toEqual(verdict);
  });

  it("puts a command back into the queue once per fence, and never lets a fence that was given back claim", async () => {
    const { commands, sessions } = fixture;
    const session = aSession({ grant: { dispatchesLeft: 1 } });
    await sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    await claimFor(fixture, record.id, "fen_a");
    expect(await commands.giveBack(record.id, "fen_b")).toBe(false);
    expect(await commands.giveBack(record.id, "fen_a")).toBe(true);
    expect(await commands.giveBack(record.id, "fen_a")).toBe(true);
    expect(await commands.get(record.id)).toEqual(record);
    // Claims of several attempts may be on their way together, on a connection that waits for replicas.
    const late = ["fen_late_1", "fen_late_2", "fen_late_3"];
    for (const fence of late) expect(await commands.giveBack(record.id, fence)).toBe(false);
    for (const fence of [...late, "fen_a", "fen_b"])
      expect(await claimFor(fixture, record.id, fence)).toEqual({ kind: "not_queued", state: "queued" });
    expect((await claimFor(fixture, record.id, "fen_c")).kind).toBe("claimed");
    expect((await sessions.get("acme", session.id))?.grant.dispatchesLeft).toBe(0);
  });

  it("ends a command as never started when its cancel came before it was given back", async () => {
    const { commands, sessions } = fixture;
    const session = aSession({ grant: { dispatchesLeft: 1 } });
    await sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    await claimFor(fixture, record.id, "fen_a");
    expect(await commands.requestCancel(record.id, CANCELLED)).toBe("requested");
    expect((await commands.get(record.id))?.cancelRequested).toBe(true);
    expect(await commands.giveBack(record.id, "fen_a")).toBe(true);
    expect(await commands.get(record.id)).toMatchObject({ state: "finished", result: CANCELLED });
    expect((await sessions.get("acme", session.id))?.grant.dispatchesLeft).toBe(1);
  });

  it("keeps a denial as a finished record that took nothing from the grant", async () => {
    const session = aSession({ grant: { dispatchesLeft: 1 } });
    await fixture.sessions.create(session);
    const record = aRecord(session, { state: "finished" });
    const answer = await fixture.commands.admit({
      record,
      idempotency: null,
      quotas: NO_QUOTAS,
      sessionVersion: null,
    });
    expect(answer).toEqual({ kind: "admitted", priority: 0 });
    expect(await fixture.commands.get(record.id)).toEqual(record);
    expect((await fixture.sessions.get("acme", session.id))?.grant.dispatchesLeft).toBe(1);
  });
});
