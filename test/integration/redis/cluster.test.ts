import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createBullmqQueueConsumer } from "../../../src/adapters/redis/bullmq-queue-consumer.js";
import {
  aCompletedResult,
  admitQueued,
  aSession,
  CANCELLED,
  claimFor,
  openStoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { expectConsistent } from "../../support/redis-invariants.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

let server: RedisServer;

beforeAll(async () => {
  server = await startRedisServer({ "cluster-enabled": "yes" });
  const redis = new Redis(server.url);
  await redis.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await until(async () => String(await redis.call("CLUSTER", "INFO")).includes("cluster_state:ok"));
  redis.disconnect();
});
afterAll(() => server.stop());

it("runs every script on a node in cluster mode, which refuses keys of several slots", async () => {
  const fixture = await openStoreFixture(server);
  const { commands, sessions, queue, leases } = fixture;
  const session = aSession({ grant: { dispatchesLeft: 9 } });
  await sessions.create(session);
  await sessions.setCwd("acme", session.id, "a");
  const consumer = createBullmqQueueConsumer({
    endpoint: { url: server.url },
    deployment: fixture.deployment,
    pool: "default",
    concurrency: 1,
    log: silentLog,
    metrics: silentMetrics,
  });
  const { record, priority } = await admitQueued(fixture, session);
  await consumer.start(async (commandId) => {
    await claimFor(fixture, commandId, "fen_a");
    await commands.giveBack(commandId, "fen_a");
    await claimFor(fixture, commandId, "fen_b");
    await commands.finish(commandId, "fen_b", aCompletedResult());
    return "done";
  });
  await queue.enqueue("default", { commandId: record.id, priority, traceparent: null });
  expect((await commands.waitForEnd(record.id, 60_000, new AbortController().signal))?.state).toBe(
    "finished",
  );
  const lost = await admitQueued(fixture, session);
  await claimFor(fixture, lost.record.id, "fen_c");
  await commands.requestCancel(lost.record.id, CANCELLED);
  await leases.leave(fixture.workerId);
  expect(await leases.declareLost(lost.record.id, "fen_c", CANCELLED)).toBe(true);
  expect(await leases.unqueued(0, 5)).toEqual([]);
  expect(await leases.workers(5)).toEqual([]);
  expect(await queue.depths(["default", "other"])).toHaveLength(2);
  expect((await commands.counts()).queued).toBe(0);
  expect(await leases.lead("role", "me", 1_000)).toBe(true);
  expect(await sessions.remove("acme", session.id)).toEqual([]);
  await expectConsistent(fixture);
  await consumer.close();
  await fixture.close();
});
