import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createKeys } from "../../../src/adapters/redis/keys.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import { freshId, openStoreFixture, type StoreFixture } from "../../support/redis-fixtures.js";
import { keysOf } from "../../support/redis-invariants.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

const KIND = createHash("sha256").update("a kind").digest("hex");

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

/** Listens as a worker and resolves once it is heard of. */
async function join(workerId: string) {
  const heard: unknown[] = [];
  const hear = (said: unknown) => void heard.push(said);
  const end = fixture.warmHomes.listen(workerId, { offered: hear, answered: hear });
  const channel = createKeys(fixture.deployment).workerChannel(workerId);
  await until(async () => (await fixture.redis.pubsub("NUMSUB", channel))[1] === 1);
  return { heard, end, channel };
}

it("a home is the worker that said so last, and nothing of it stays in Redis beyond its time", async () => {
  const { warmHomes } = fixture;
  const [first, second] = [freshId("wrk"), freshId("wrk")];
  const before = await keysOf(fixture);
  expect(await warmHomes.homeOf(KIND)).toBeNull();
  await warmHomes.settle(KIND, first, 60_000);
  await warmHomes.settle(KIND, second, 60_000);
  expect(await warmHomes.homeOf(KIND)).toBe(second);
  const added = (await keysOf(fixture)).filter((name) => !before.includes(name));
  expect(added).toEqual([`warm-home:${KIND}`]);
  expect(await fixture.redis.pttl(createKeys(fixture.deployment).warmHome(KIND))).toBeGreaterThan(0);

  await warmHomes.forget(KIND);
  expect(await warmHomes.homeOf(KIND)).toBeNull();
  await warmHomes.settle(KIND, first, 20);
  await until(async () => (await warmHomes.homeOf(KIND)) === null);
  expect(await keysOf(fixture)).toEqual(before);
});

it("a home that is no worker's id is none", async () => {
  await fixture.redis.set(createKeys(fixture.deployment).warmHome(KIND), "wrk_*\r\nPUBLISH", "PX", 60_000);
  expect(await fixture.warmHomes.homeOf(KIND)).toBeNull();
});

it("offers and answers reach their worker alone, and nobody is told where nobody hears", async () => {
  const [one, two, gone] = [freshId("wrk"), freshId("wrk"), freshId("wrk")];
  const [atOne, atTwo] = [await join(one), await join(two)];
  const offer = { commandId: freshId("cmd"), fleetKind: KIND, from: one };
  const answer = { commandId: offer.commandId, from: two, isTaken: true };
  expect(await fixture.warmHomes.offer(two, offer)).toBe(true);
  expect(await fixture.warmHomes.offer(gone, offer)).toBe(false);
  await fixture.warmHomes.answer(one, answer);
  await fixture.warmHomes.answer(one, { ...answer, isTaken: false });
  await until(async () => atOne.heard.length === 2 && atTwo.heard.length === 1);
  expect(atOne.heard).toEqual([answer, { ...answer, isTaken: false }]);
  expect(atTwo.heard).toEqual([offer]);

  atTwo.end();
  await until(async () => !(await fixture.warmHomes.offer(two, offer)));
});

it("what no worker says is not heard, and is no change of a command either", async () => {
  const workerId = freshId("wrk");
  const { heard, channel } = await join(workerId);
  const [command, from] = [freshId("cmd"), freshId("wrk")];
  const nonsense = [
    "",
    "offer",
    `offer ${command} ${from}`,
    `offer ${command} ${from} ${KIND} more`,
    `offer ${command} ${from} ${KIND.slice(1)}`,
    `offer ${command} ${command} ${KIND}`,
    `offer cmd_1 ${from} ${KIND}`,
    `taken ${command} ${from} ${KIND}`,
    `taken ${command}`,
    `given ${command} ${from}`,
    `${command} finished owed`,
    `offer ${command} ${from} ${"f".repeat(100_000)}`,
  ];
  for (const each of nonsense) await fixture.redis.publish(channel, each);
  await fixture.redis.publish(channel, `declined ${command} ${from}`);
  await until(async () => heard.length > 0);
  expect(heard).toEqual([{ commandId: command, from, isTaken: false }]);
});

it("a Redis that is away is told as such", async () => {
  const own = await startRedisServer();
  const stores = await openStoreFixture(own);
  await own.stop();
  const offer = { commandId: freshId("cmd"), fleetKind: KIND, from: freshId("wrk") };
  await expect(stores.warmHomes.homeOf(KIND)).rejects.toThrow(StoreUnavailable);
  await expect(stores.warmHomes.settle(KIND, freshId("wrk"), 1_000)).rejects.toThrow(StoreUnavailable);
  await expect(stores.warmHomes.offer(freshId("wrk"), offer)).rejects.toThrow(StoreUnavailable);
  await stores.close();
});
