import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createBullmqQueueConsumer } from "../../../src/adapters/redis/bullmq-queue-consumer.js";
import type { Session } from "../../../src/domain/session.js";
import type { HandlerAnswer, QueueConsumer } from "../../../src/ports/command-queue.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import {
  admitQueued,
  aSession,
  claimFor,
  freshId,
  openStoreFixture,
  type StoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

let server: RedisServer;
let fixture: StoreFixture;
let session: Session;
let consumers: QueueConsumer[] = [];

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  fixture = await openStoreFixture(server);
  session = aSession();
  await fixture.sessions.create(session);
});
afterEach(async () => {
  await Promise.all(consumers.map((consumer) => consumer.close()));
  consumers = [];
  await fixture.close();
});

function aConsumer(pool = "default", concurrency = 1): QueueConsumer {
  const consumer = createBullmqQueueConsumer({
    endpoint: { url: server.url },
    deployment: fixture.deployment,
    pool,
    concurrency,
    log: silentLog,
    metrics: silentMetrics,
  });
  consumers.push(consumer);
  return consumer;
}

const enqueue = (commandId: string, priority = 1, pool = "default") =>
  fixture.queue.enqueue(pool, { commandId, priority });

/** A handler that waits until it is told what to answer. */
function heldHandler() {
  const seen: string[] = [];
  const answers: ((answer: HandlerAnswer) => void)[] = [];
  return {
    seen,
    handle: (commandId: string) => {
      seen.push(commandId);
      return new Promise<HandlerAnswer>((resolve) => answers.push(resolve));
    },
    answer: (answer: HandlerAnswer) => answers.shift()?.(answer),
  };
}

describe("the queue", () => {
  it("holds one entry however often it is enqueued, and none after it was withdrawn", async () => {
    const id = freshId("cmd");
    await Promise.all([enqueue(id), enqueue(id), enqueue(id)]);
    expect(await fixture.queue.depth("default")).toEqual({ waiting: 1, active: 0 });
    expect(await fixture.queue.depth("other")).toEqual({ waiting: 0, active: 0 });
    expect(await fixture.queue.withdraw("default", id)).toBe(true);
    expect(await fixture.queue.withdraw("default", id)).toBe(false);
    expect(await fixture.queue.depth("default")).toEqual({ waiting: 0, active: 0 });
  });

  it("does not give up an entry that a worker holds", async () => {
    const id = freshId("cmd");
    const held = heldHandler();
    const consumer = aConsumer();
    await consumer.start(held.handle);
    await enqueue(id);
    await until(async () => held.seen.length === 1);
    expect(await fixture.queue.withdraw("default", id)).toBe(false);
    expect(await fixture.queue.depth("default")).toEqual({ waiting: 0, active: 1 });
    held.answer("done");
    await until(async () => (await fixture.queue.depth("default")).active === 0);
  });

  it("hands an entry to a pool's own consumers only", async () => {
    const held = heldHandler();
    await aConsumer("gpu").start(held.handle);
    const [plain, gpu] = [freshId("cmd"), freshId("cmd")];
    await enqueue(plain);
    await enqueue(gpu, 1, "gpu");
    await until(async () => held.seen.length === 1);
    expect(held.seen).toEqual([gpu]);
    expect(await fixture.queue.depth("default")).toEqual({ waiting: 1, active: 0 });
    held.answer("done");
  });

  it("finds queued records that have no entry, however many healthy ones are older", async () => {
    const agedMs = async (commandId: string, ageMs: number) =>
      fixture.redis.zadd(`{bailiff:${fixture.deployment}}:queued`, Date.now() - ageMs, commandId);
    const healthy: Awaited<ReturnType<typeof admitQueued>>[] = [];
    while (healthy.length < 600) {
      healthy.push(...(await Promise.all(Array.from({ length: 50 }, () => admitQueued(fixture, session)))));
    }
    for (const { record } of healthy) await agedMs(record.id, 60_000);
    for (const { record, priority } of healthy) await enqueue(record.id, priority);
    const missing = await admitQueued(fixture, session);
    await agedMs(missing.record.id, 20_000);
    await admitQueued(fixture, session);
    expect((await fixture.leases.unqueued(10_000, 5)).map((each) => each.id)).toEqual([missing.record.id]);
    await enqueue(missing.record.id);
    expect(await fixture.leases.unqueued(10_000, 5)).toEqual([]);
  });
});

describe("the consumer", () => {
  it("calls no handler once it drains: what it is handed then goes back, for another one to have at once (FB-50)", async () => {
    const held = heldHandler();
    const first = aConsumer("default", 1);
    await first.start(held.handle);
    const ids = [freshId("cmd"), freshId("cmd"), freshId("cmd")];
    for (const id of ids) await enqueue(id);
    await until(async () => held.seen.length === 1);
    const drained = first.drain();
    held.answer("give_back");
    await drained;
    await first.close();
    expect(held.seen).toEqual([ids[0]]);
    expect(await fixture.queue.depth("default")).toEqual({ waiting: 3, active: 0 });
    const second = heldHandler();
    await aConsumer("default", 3).start(second.handle);
    await until(async () => second.seen.length === 3);
    expect(second.seen).toEqual(ids);
    for (const _ of ids) second.answer("done");
    await until(async () => (await fixture.queue.depth("default")).active === 0);
  });

  it("takes what it was given back before anything else, and an idle one is woken for it", async () => {
    const answers: HandlerAnswer[] = ["give_back", "done"];
    const seen: string[] = [];
    const handle = async (commandId: string): Promise<HandlerAnswer> => {
      seen.push(commandId);
      return answers.shift() ?? "done";
    };
    await Promise.all([aConsumer().start(handle), aConsumer().start(handle)]);
    const id = freshId("cmd");
    await enqueue(id, 1_000);
    await until(async () => seen.length === 2);
    expect(seen).toEqual([id, id]);
    await until(async () => (await fixture.queue.depth("default")).active === 0);
  });

  it("gives an entry back when the store is away during its handling", async () => {
    let calls = 0;
    await aConsumer().start(async () => {
      calls += 1;
      if (calls === 1) throw new StoreUnavailable("away");
      return "done";
    });
    await enqueue(freshId("cmd"));
    await until(async () => calls === 2);
    await until(async () => (await fixture.queue.depth("default")).active === 0);
  });

  it("keeps an entry whose handling failed from spinning: it stays held until its lock is over", async () => {
    let calls = 0;
    await aConsumer().start(async () => {
      calls += 1;
      throw new Error("a fault of ours");
    });
    await enqueue(freshId("cmd"));
    await until(async () => calls === 1);
    const second = freshId("cmd");
    await enqueue(second);
    await until(async () => calls === 2);
    expect(await fixture.queue.depth("default")).toEqual({ waiting: 0, active: 2 });
  });

  it("hands out again what a consumer that died held, and the claim stays the only one (FB-43)", async () => {
    const { record, priority } = await admitQueued(fixture, session);
    await enqueue(record.id, priority);
    const claims: string[] = [];
    const handle = async (commandId: string): Promise<HandlerAnswer> => {
      claims.push((await claimFor(fixture, commandId)).kind);
      return "done";
    };
    // As if a worker had fetched it and died: held by a lock that nobody renews and that is over now.
    const key = `{bailiff:${fixture.deployment}}:queue:default`;
    await fixture.redis.zrem(`${key}:prioritized`, record.id);
    await fixture.redis.lpush(`${key}:active`, record.id);
    await fixture.redis.sadd(`${key}:stalled`, record.id);
    expect((await claimFor(fixture, record.id)).kind).toBe("claimed");
    await aConsumer().start(handle);
    await until(async () => claims.length === 1);
    expect(claims).toEqual(["not_queued"]);
    await until(async () => (await fixture.queue.depth("default")).active === 0);
    expect((await fixture.commands.get(record.id))?.state).toBe("dispatched");
  });

  it("runs at most its concurrency at once and calls itself fetching while it is full", async () => {
    const held = heldHandler();
    const consumer = aConsumer("default", 2);
    expect(consumer.isFetching()).toBe(false);
    await consumer.start(held.handle);
    for (let i = 0; i < 5; i += 1) await enqueue(freshId("cmd"));
    await until(async () => held.seen.length === 2);
    expect(await fixture.queue.depth("default")).toEqual({ waiting: 3, active: 2 });
    expect(consumer.isFetching()).toBe(true);
    while (held.seen.length < 5 || (await fixture.queue.depth("default")).active > 0) {
      held.answer("done");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await consumer.drain();
    expect(consumer.isFetching()).toBe(false);
  });
});
