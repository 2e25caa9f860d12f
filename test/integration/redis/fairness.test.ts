import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createBullmqQueueConsumer } from "../../../src/adapters/redis/bullmq-queue-consumer.js";
import type { Session } from "../../../src/domain/session.js";
import {
  aRecord,
  aSession,
  CANCELLED,
  claimFor,
  NO_QUOTAS,
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
});
afterEach(() => fixture.close());

async function tenant(name: string): Promise<Session> {
  const session = aSession({ tenant: name });
  await fixture.sessions.create(session);
  return session;
}

/** Admits and enqueues; answers the priority. */
async function submit(session: Session, weight = 1): Promise<number> {
  const record = aRecord(session);
  const answer = await fixture.commands.admit({
    record,
    idempotency: null,
    quotas: { ...NO_QUOTAS, tenantWeight: weight },
    sessionVersion: null,
  });
  if (answer.kind !== "admitted") throw new Error(answer.kind);
  await fixture.queue.enqueue("default", {
    commandId: record.id,
    priority: answer.priority,
  });
  return answer.priority;
}

const submitMany = async (session: Session, count: number, weight = 1) => {
  for (let i = 0; i < count; i += 100) {
    await Promise.all(Array.from({ length: Math.min(100, count - i) }, () => submit(session, weight)));
  }
};

/** Claims and ends entries one after the other, in the queue's order, and answers whose they were. */
async function consume(count: number): Promise<string[]> {
  const order: string[] = [];
  const consumer = createBullmqQueueConsumer({
    endpoint: { url: server.url },
    deployment: fixture.deployment,
    pool: "default",
    concurrency: 1,
    log: silentLog,
    metrics: silentMetrics,
  });
  await consumer.start(async (commandId) => {
    if (order.length >= count) return "give_back";
    const fence = `fen_${commandId}`;
    const claim = await claimFor(fixture, commandId, fence);
    if (claim.kind !== "claimed") throw new Error(claim.kind);
    order.push(claim.record.tenant);
    await fixture.commands.finish(commandId, fence, { ...CANCELLED, effect: "unknown" });
    return "done";
  });
  await until(async () => order.length >= count);
  await consumer.drain();
  await consumer.close();
  return order;
}

describe("fair queueing", () => {
  it("delays a tenant's first command by about one round of a tenant with 2,000 queued", async () => {
    const [flood, quiet] = [await tenant("flood"), await tenant("quiet")];
    await submitMany(flood, 2_000);
    await submit(quiet);
    expect((await consume(3)).indexOf("quiet")).toBeLessThanOrEqual(1);
    // Also for one that comes when the flood has long been served.
    await consume(40);
    await submit(quiet);
    expect((await consume(3)).indexOf("quiet")).toBeLessThanOrEqual(1);
  });

  it("alternates between tenants of equal weight and serves others by their weight", async () => {
    const [a, b] = [await tenant("a"), await tenant("b")];
    await submitMany(a, 30);
    await submitMany(b, 30);
    const equal = await consume(20);
    expect(Math.abs(equal.filter((name) => name === "a").length - 10)).toBeLessThanOrEqual(1);
    const [light, heavy] = [await tenant("light"), await tenant("heavy")];
    await submitMany(light, 40, 1);
    await submitMany(heavy, 40, 3);
    const share = (await consume(60)).filter((name) => name === "light" || name === "heavy");
    const heavyShare = share.filter((name) => name === "heavy").length / share.length;
    expect(heavyShare).toBeGreaterThan(0.6);
    expect(heavyShare).toBeLessThan(0.85);
  });

  it("lets nobody save up: a tenant that was idle has no more than its turn", async () => {
    const [busy, idle] = [await tenant("busy"), await tenant("idle")];
    await submitMany(busy, 60);
    await consume(50);
    await submitMany(idle, 20);
    await submitMany(busy, 10);
    const order = await consume(20);
    expect(order.filter((name) => name === "busy").length).toBeGreaterThanOrEqual(8);
  });

  it("begins at priority 1 again when the queue is empty", async () => {
    const session = await tenant("a");
    expect([await submit(session), await submit(session)]).toEqual([1, 17]);
    await consume(2);
    expect(await submit(session)).toBe(1);
  });

  it("keeps the order, and room above it, when the numbers have grown large", async () => {
    const [a, b] = [await tenant("a"), await tenant("b")];
    await submitMany(a, 5);
    // As after a hundred thousand rounds in which the queue was never empty.
    const fair = `{bailiff:${fixture.deployment}}:pool:default:fair`;
    const prioritized = `{bailiff:${fixture.deployment}}:queue:default:prioritized`;
    const rounds = 100_000;
    await fixture.redis.hset(fair, { V: rounds, "t:a": rounds + 5 });
    const members = await fixture.redis.zrange(prioritized, 0, -1);
    for (const [i, member] of members.entries()) {
      await fixture.redis.zadd(prioritized, (1 + 16 * (rounds + i)) * 2 ** 32 + i, member);
      await fixture.redis.hset(`{bailiff:${fixture.deployment}}:cmd:${member}`, { tag: rounds + i });
    }
    const [late] = [await submit(b)];
    expect(late).toBeGreaterThan(1_000_000);
    // The admission above has moved everything back.
    const after = await fixture.redis.zrange(prioritized, 0, -1, "WITHSCORES");
    const priorities = after
      .filter((_, i) => i % 2 === 1)
      .map((score) => Math.floor(Number(score) / 2 ** 32));
    expect(after.filter((_, i) => i % 2 === 0).slice(0, 5)).toEqual(members);
    expect(priorities).toEqual([1, 17, 33, 49, 65, expect.any(Number)]);
    expect(await submit(b)).toBeLessThan(100);
  });
});
