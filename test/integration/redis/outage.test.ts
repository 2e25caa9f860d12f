import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBullmqQueueConsumer } from "../../../src/adapters/redis/bullmq-queue-consumer.js";
import { openRedisStores } from "../../../src/adapters/redis/redis-stores.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import { createCapturedLog } from "../../support/captured-log.js";
import {
  aCompletedResult,
  admitQueued,
  aRecord,
  aSession,
  claimFor,
  freshId,
  NO_QUOTAS,
  openStoreFixture,
  type StoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { expectConsistent } from "../../support/redis-invariants.js";
import { type RedisServer, type RedisSettings, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

let server: RedisServer;
let fixture: StoreFixture;

async function begin(settings: RedisSettings = {}, given: Parameters<typeof openStoreFixture>[1] = {}) {
  server = await startRedisServer(settings);
  fixture = await openStoreFixture(server, given);
}
afterEach(async () => {
  await fixture?.close();
  await server.stop();
});

/** Generous: the point is that nobody waits for Redis to come back. */
const AT_ONCE_MS = 5_000;

async function expectUnavailableAtOnce(use: () => Promise<unknown>): Promise<void> {
  const startedMs = performance.now();
  await expect(use()).rejects.toBeInstanceOf(StoreUnavailable);
  expect(performance.now() - startedMs).toBeLessThan(AT_ONCE_MS);
}

describe("an outage of Redis", () => {
  beforeEach(() => begin());

  it("is said at once by every use of the stores, and is over by itself", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    const signal = new AbortController().signal;
    await server.kill();
    const { commands, sessions, leases, queue } = fixture;
    for (const use of [
      () =>
        commands.admit({
          record: aRecord(session),
          idempotency: null,
          quotas: NO_QUOTAS,
          sessionVersion: null,
        }),
      () => commands.get(record.id),
      () => commands.list({ tenant: "acme", sessionId: null, state: null, limit: 5, cursor: null }),
      () => claimFor(fixture, record.id),
      () => commands.waitForEnd(record.id, 60_000, signal),
      () => sessions.get("acme", session.id),
      () => leases.orphaned(5),
      () => queue.enqueue("default", { commandId: record.id, priority: 1 }),
      () => queue.depth("default"),
    ]) {
      await expectUnavailableAtOnce(use);
    }
    expect(await fixture.isAnswering()).toBe(false);
    await server.restart();
    await until(() => fixture.isAnswering());
    expect((await commands.get(record.id))?.state).toBe("queued");
  });

  it("longer than a blocking fetch does not keep the consumer from what comes afterwards", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    const handled: string[] = [];
    const consumer = createBullmqQueueConsumer({
      endpoint: { url: server.url },
      deployment: fixture.deployment,
      pool: "default",
      concurrency: 2,
      log: silentLog,
      metrics: silentMetrics,
    });
    await consumer.start(async (commandId) => {
      handled.push(commandId);
      return "done";
    });
    expect(consumer.isFetching()).toBe(true);
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    await server.restart();
    await until(() => fixture.isAnswering());
    const { record, priority } = await admitQueued(fixture, session);
    await fixture.queue.enqueue("default", { commandId: record.id, priority });
    await until(async () => handled.includes(record.id));
    expect(consumer.isFetching()).toBe(true);
    await consumer.drain();
    await consumer.close();
  });

  it("in which Redis is there but silent is said as well, and leaves a claim that can be repeated", async () => {
    const session = aSession();
    await fixture.sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    server.pause();
    await expectUnavailableAtOnce(() => claimFor(fixture, record.id, "fen_a"));
    server.resume();
    await until(() => fixture.isAnswering());
    expect((await claimFor(fixture, record.id, "fen_a")).kind).toBe("claimed");
    expect(await fixture.commands.finish(record.id, "fen_a", aCompletedResult())).toBe(true);
    await expectConsistent(fixture);
  });

  it("does not keep the consumer or the stores from closing", async () => {
    const consumer = createBullmqQueueConsumer({
      endpoint: { url: server.url },
      deployment: fixture.deployment,
      pool: "default",
      concurrency: 1,
      log: silentLog,
      metrics: silentMetrics,
    });
    await consumer.start(async () => "done");
    await server.kill();
    await consumer.drain();
    await consumer.close();
    await fixture.close();
  });
});

describe("a Redis that can't write", () => {
  it("because its memory is full refuses admissions whole, and still lets what runs come to its end (FB-51)", async () => {
    await begin();
    const session = aSession({ grant: { dispatchesLeft: 100 } });
    await fixture.sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    const queued = await admitQueued(fixture, session);
    await claimFor(fixture, record.id, "fen_a");
    await fixture.redis.config("SET", "maxmemory", "1");
    await expectUnavailableAtOnce(() =>
      fixture.commands.admit({
        record: aRecord(session),
        idempotency: { key: "k", bodyHash: "h" },
        quotas: { ...NO_QUOTAS, tenantRequestsPerMinute: 100 },
        sessionVersion: null,
      }),
    );
    await expectUnavailableAtOnce(() => fixture.sessions.create(aSession()));
    expect((await claimFor(fixture, queued.record.id, "fen_b")).kind).toBe("claimed");
    expect(await fixture.commands.finish(record.id, "fen_a", aCompletedResult())).toBe(true);
    await fixture.redis.config("SET", "maxmemory", "0");
    await expectConsistent(fixture, { [session.id]: 100 });
    const listed = await fixture.commands.list({
      tenant: "acme",
      sessionId: null,
      state: null,
      limit: 9,
      cursor: null,
    });
    expect(listed.records.map((each) => each.id).sort()).toEqual([record.id, queued.record.id].sort());
  });

  it("because it became a replica, or its disk fails, is unavailable and not a fault of the request", async () => {
    await begin();
    const session = aSession();
    await fixture.sessions.create(session);
    await fixture.redis.call("REPLICAOF", "127.0.0.1", "1");
    await expectUnavailableAtOnce(() =>
      fixture.commands.admit({
        record: aRecord(session),
        idempotency: null,
        quotas: NO_QUOTAS,
        sessionVersion: null,
      }),
    );
    await fixture.redis.call("REPLICAOF", "NO", "ONE");
    await until(() => fixture.isAnswering());
    expect((await admitQueued(fixture, session)).priority).toBe(1);
  });
});

describe("the check at the start", () => {
  const open = (log = createCapturedLog()) =>
    openRedisStores({
      endpoint: { url: server.url },
      deployment: freshId("key"),
      retention: { resultTtlMs: 1_000, idempotencyTtlMs: 1_000 },
      clock: { nowMs: () => Date.now() },
      log,
    });

  it("refuses a Redis that may evict, and says what to set (FB-51)", async () => {
    server = await startRedisServer({ "maxmemory-policy": "allkeys-lru" });
    await expect(open()).rejects.toThrow(/maxmemory-policy is 'allkeys-lru'; set it to 'noeviction'/);
  });

  it("refuses a replica", async () => {
    server = await startRedisServer({ replicaof: "127.0.0.1 1" });
    await expect(open()).rejects.toThrow(/read-only replica/);
  });

  it("warns of a Redis that keeps nothing on disk, and only then", async () => {
    server = await startRedisServer({ appendonly: "no", save: "" });
    const log = createCapturedLog();
    await (await open(log)).close();
    expect(log.lines.filter((line) => line.level === "warn").map((line) => line.message)).toEqual([
      expect.stringContaining("keeps nothing on disk"),
    ]);
    await server.stop();
    server = await startRedisServer();
    const quiet = createCapturedLog();
    await (await open(quiet)).close();
    expect(quiet.lines.filter((line) => line.level === "warn")).toEqual([]);
  });

  it("says that Redis is not reachable", async () => {
    server = await startRedisServer();
    await server.kill();
    await expect(open()).rejects.toBeInstanceOf(StoreUnavailable);
  });
});
