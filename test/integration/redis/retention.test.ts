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

it("leaves nothing of ended commands when their retention is over, and everything of those that have not ended", async () => {
  fixture = await openStoreFixture(server, { resultTtlMs: 300, idempotencyTtlMs: 300 });
  const { commands, sessions } = fixture;
  const session = aSession();
  await sessions.create(session);
  const open = await admitQueued(fixture, session);
  for (let i = 0; i < 20; i += 1) {
    const record = aRecord(session, i % 5 === 0 ? { state: "finished" } : {});
    await commands.admit({
      record,
      idempotency: { key: `k${i}`, bodyHash: "h" },
      quotas: { ...NO_QUOTAS, tenantRequestsPerMinute: 1_000 },
    });
    if (i % 2 === 0) await commands.endUnstarted(record.id, CANCELLED, Date.now());
    else {
      await claimFor(fixture, record.id, `fen_${i}`);
      await commands.finish(record.id, `fen_${i}`, aCompletedResult(), Date.now());
    }
  }
  await expectConsistent(fixture);
  await until(async () => {
    // Ends trim what is over; a clock that is past the pause between two trims stands for waiting it out.
    await commands.endUnstarted(open.record.id, CANCELLED, Date.now()).catch(() => false);
    const last = await admitQueued(fixture, session);
    await claimFor(fixture, last.record.id, "fen_last");
    await commands.finish(last.record.id, "fen_last", aCompletedResult(), Date.now() + 20_000);
    await new Promise((resolve) => setTimeout(resolve, 400));
    return (await keysOf(fixture)).every((name) => !name.startsWith("cmd:"));
  });
  await sessions.remove("acme", session.id);
  await until(async () => {
    const names = await keysOf(fixture);
    return names.every(
      (name) =>
        ["leases", "engines", "pool:default:fair", "tenant:acme:rate"].includes(name) ||
        name === "closed" ||
        name.endsWith(":index"),
    );
  });
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
    await fixture.queue.enqueue("default", { commandId: freshId("cmd"), priority: 1, traceparent: null });
  }
  await until(async () => done === 200 && (await fixture.queue.depth("default")).active === 0);
  await consumer.close();
  const names = (await keysOf(fixture)).filter((name) => name.startsWith("queue:"));
  expect(names.filter((name) => name.includes("cmd_"))).toEqual([]);
  expect(names.length).toBeLessThan(10);
  expect(await fixture.redis.xlen(`{bailiff:${fixture.deployment}}:queue:default:events`)).toBeLessThan(500);
});
