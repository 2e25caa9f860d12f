import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeys } from "../../src/adapters/redis/keys.js";
import { createInstallation, type Installation, openAgent } from "../support/bailiff.js";
import { type RedisCluster, startRedisCluster } from "../support/redis-cluster.js";

const ONCE = ["sh", "-c", "echo once >> ledger; cat ledger"];
const KEYED = { prefer: "wait=60", "idempotency-key": "after-the-change" };

let cluster: RedisCluster;
let installation: Installation;

beforeAll(async () => {
  cluster = await startRedisCluster();
  installation = await createInstallation();
});
afterAll(async () => {
  await installation.remove();
  await cluster.stop();
});

test("on a Redis Cluster of three nodes commands run, and go on running when another node takes over", async () => {
  const owner = await cluster.ownerOf(createKeys(installation.deployment).queued);
  const [first, ...others] = cluster.primaries.filter((node) => node !== owner);
  const bailiff = await installation.start("all", {
    redis: { url: first?.url, cluster_nodes: others.map(({ host, port }) => `${host}:${port}`) },
  });
  const agent = await openAgent(installation, bailiff);
  const before = await agent.submit(["echo", "before"]);
  expect(before.body).toMatchObject({ outcome: "completed", stdout: "before\n" });

  await cluster.failOver(owner);
  await expect
    .poll(async () => (await bailiff.call(agent.key, "GET", "/readyz")).status, { timeout: 60_000 })
    .toBe(200);
  await expect
    .poll(
      async () =>
        (await bailiff.call(agent.key, "GET", `/v1/commands/${before.body.command_id}`)).body.outcome,
      { timeout: 60_000 },
    )
    .toBe("completed");
  // Whatever the store does not answer for while nodes change places is sent again with its key, and runs once.
  const again = async () => (await agent.submit(ONCE, {}, KEYED)).body;
  await expect.poll(again, { timeout: 60_000 }).not.toMatchObject({ code: "store_unavailable" });
  expect(await again()).toMatchObject({ outcome: "completed", stdout: "once\n" });
  expect(await bailiff.stop()).toBe(0);
});
