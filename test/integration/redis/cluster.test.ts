import { afterAll, beforeAll, expect, it } from "vitest";
import { createBullmqQueueConsumer } from "../../../src/adapters/redis/bullmq-queue-consumer.js";
import { createKeys } from "../../../src/adapters/redis/keys.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import { type RedisCluster, startRedisCluster } from "../../support/redis-cluster.js";
import {
  aCompletedResult,
  admitQueued,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  openStoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { expectConsistent } from "../../support/redis-invariants.js";
import { until } from "../../support/until.js";

let cluster: RedisCluster;
const forEver = new AbortController().signal;

beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster.stop());

/** A deployment's stores, told of two nodes that do not hold its keys. */
async function openOnCluster() {
  const deployment = freshId("key").replace("_", "-");
  const owner = await cluster.ownerOf(createKeys(deployment).queued);
  const [first, second] = cluster.primaries.filter((node) => node !== owner);
  if (first === undefined || second === undefined) throw new Error("fewer than three primaries");
  const endpoint = { url: first.url, clusterNodes: [`${second.host}:${second.port}`] };
  const fixture = await openStoreFixture(owner, { deployment, endpoint });
  const consumer = createBullmqQueueConsumer({
    endpoint,
    deployment,
    pool: "default",
    concurrency: 1,
    log: silentLog,
    metrics: silentMetrics,
  });
  return { owner, first, fixture, consumer };
}

/** On each connection the first to be told that the slot has moved may be refused; it has changed nothing then. */
async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  const done: T[] = [];
  await until(async () => {
    try {
      done.push(await work());
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) return false;
      throw error;
    }
  });
  return done[0] as T;
}

it("runs every script on the node of three that holds the deployment's slot, found through the two others", async () => {
  const { fixture, consumer } = await openOnCluster();
  const { commands, sessions, queue, leases } = fixture;
  const session = aSession({ grant: { dispatchesLeft: 9 } });
  await sessions.create(session);
  await sessions.setCwd("acme", session.id, "a");
  const { record, priority } = await admitQueued(fixture, session);
  await consumer.start(async (commandId) => {
    await claimFor(fixture, commandId, "fen_a");
    await commands.giveBack(commandId, "fen_a");
    await claimFor(fixture, commandId, "fen_b");
    await commands.finish(commandId, "fen_b", aCompletedResult());
    return "done";
  });
  await queue.enqueue("default", { commandId: record.id, priority });
  expect((await commands.waitForEnd(record.id, 60_000, forEver))?.state).toBe("finished");
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

it("refuses a node that does not hold the deployment's keys where no others are named, and says what to set", async () => {
  const { fixture, first } = await openOnCluster();
  await expect(openStoreFixture(first, { deployment: fixture.deployment })).rejects.toThrow(
    /redis\.cluster_nodes/,
  );
  await fixture.close();
});

it("follows the slot to the node that takes it over: stores, subscription and blocked fetch, each command once", async () => {
  const { owner, fixture, consumer } = await openOnCluster();
  const { commands, queue } = fixture;
  const session = aSession();
  await fixture.sessions.create(session);
  const handled: string[] = [];
  await consumer.start(async (commandId) => {
    handled.push(commandId);
    await claimFor(fixture, commandId, `fen_${commandId}`);
    await commands.finish(commandId, `fen_${commandId}`, aCompletedResult());
    return "done";
  });
  const runOne = async () => {
    const { record, priority } = await untilDone(() => admitQueued(fixture, session));
    await untilDone(() => queue.enqueue("default", { commandId: record.id, priority }));
    expect((await untilDone(() => commands.waitForEnd(record.id, 60_000, forEver)))?.state).toBe("finished");
    return record.id;
  };
  const before = await runOne();
  await cluster.failOver(owner);
  const after = await runOne();
  expect(handled).toEqual([before, after]);
  expect((await cluster.ownerOf(createKeys(fixture.deployment).queued)).port).toBe(cluster.spare.port);
  await consumer.close();
  await fixture.close();
});
