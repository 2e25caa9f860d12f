import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createBullmqQueueConsumer } from "../../../src/adapters/redis/bullmq-queue-consumer.js";
import {
  aCompletedResult,
  admitQueued,
  aRecord,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  NO_QUOTAS,
  openStoreFixture,
  type StoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { expectConsistent, keysOf } from "../../support/redis-invariants.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

let server: RedisServer;
let fixture: StoreFixture;

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
afterEach(() => fixture.close());

it("leaves nothing of ended commands when their retention is over, and all of one that has not ended", async () => {
  const ttlMs = 200;
  fixture = await openStoreFixture(server, { resultTtlMs: ttlMs, idempotencyTtlMs: ttlMs });
  const { commands, sessions, redis } = fixture;
  const session = aSession();
  await sessions.create(session);
  const before = await keysOf(fixture);
  const open = await admitQueued(fixture, session);
  const whileOpen = await keysOf(fixture);
  for (let i = 0; i < 20; i += 1) {
    const record = aRecord(session, i % 5 === 0 ? { state: "finished" } : {});
    await commands.admit({
      record,
      idempotency: { key: `k${i}`, bodyHash: "h" },
      quotas: NO_QUOTAS,
      sessionVersion: null,
    });
    if (i % 2 === 0) await commands.endUnstarted(record.id, CANCELLED);
    else {
      await claimFor(fixture, record.id, `fen_${i}`);
      await commands.finish(record.id, `fen_${i}`, aCompletedResult());
    }
  }
  await until(async () => (await redis.exists(`{bailiff:${fixture.deployment}}:closed`)) === 1);
  await until(async () => {
    await commands.trim();
    return (await keysOf(fixture)).length === whileOpen.length;
  });
  expect(await keysOf(fixture)).toEqual(whileOpen);
  await expectConsistent(fixture);
  expect((await commands.get(open.record.id))?.state).toBe("queued");

  await commands.endUnstarted(open.record.id, CANCELLED);
  await until(async () => {
    await commands.trim();
    return (await commands.get(open.record.id)) === null;
  });
  await commands.trim();
  const left = (await keysOf(fixture)).filter((name) => !before.includes(name));
  // What no writer of evidence has taken yet stays until one does.
  expect(left).toEqual(["evidence-outbox", "pool:default:fair", "tenant:acme:usage"]);
});

it("takes what is over out of the listings when other commands end, without being asked", async () => {
  let nowMs = Date.now();
  fixture = await openStoreFixture(server, { resultTtlMs: 1, clock: { nowMs: () => nowMs } });
  const session = aSession();
  await fixture.sessions.create(session);
  const first = await admitQueued(fixture, session);
  await fixture.commands.endUnstarted(first.record.id, CANCELLED);
  const second = await admitQueued(fixture, session);
  nowMs += 60_000;
  await fixture.commands.endUnstarted(second.record.id, CANCELLED);
  const index = `{bailiff:${fixture.deployment}}:tenant:acme:index`;
  await until(async () => (await fixture.redis.zscore(index, first.record.id)) === null);
});

it("keeps of the queue nothing per command once its entries are done", async () => {
  fixture = await openStoreFixture(server);
  const consumer = createBullmqQueueConsumer({
    endpoint: { url: server.url },
    deployment: fixture.deployment,
    pool: "default",
    concurrency: 4,
    log: silentLog,
    metrics: silentMetrics,
  });
  let done = 0;
  await consumer.start(async () => {
    done += 1;
    return "done";
  });
  for (let i = 0; i < 200; i += 1) {
    await fixture.queue.enqueue("default", { commandId: freshId("cmd"), priority: 1 });
  }
  await until(async () => done === 200 && (await fixture.queue.depth("default")).active === 0);
  await consumer.close();
  const names = (await keysOf(fixture)).filter((name) => name.startsWith("queue:"));
  expect(names.filter((name) => name.includes("cmd_"))).toEqual([]);
  expect(names.length).toBeLessThan(10);
  expect(await fixture.redis.xlen(`{bailiff:${fixture.deployment}}:queue:default:events`)).toBeLessThan(500);
});
