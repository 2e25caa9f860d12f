import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { replicatedScript } from "../../../src/adapters/redis/replicated-script.js";
import { defineScripts } from "../../../src/adapters/redis/scripts.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import {
  admitQueued,
  aSession,
  claimFor,
  freshId,
  openStoreFixture,
  silentLog,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

let primary: RedisServer;
let replica: RedisServer;
let toReplica: Redis;

beforeAll(async () => {
  primary = await startRedisServer({ "repl-diskless-sync-delay": "0" });
  replica = await startRedisServer({ replicaof: `127.0.0.1 ${primary.port}` });
  toReplica = new Redis(replica.url);
  toReplica.on("error", () => undefined);
  await until(async () => String(await toReplica.info("replication")).includes("master_link_status:up"));
});
afterAll(async () => {
  toReplica?.disconnect();
  await primary?.stop();
  await replica?.stop();
});

describe("a claim that waits for a replica", () => {
  it("asks on the connection that wrote it, and counts for nothing when that broke in between", async () => {
    const connection = new Redis(primary.url);
    const run = defineScripts(connection);
    const heartbeat = ["wrk", "engine", "60000", "60000", ""];
    const names = ["leases", "engines", "workers"].map((name) => `{broken}:${name}`);
    const whole = replicatedScript(connection, run, 1);
    await whole("heartbeat", names, heartbeat);
    const broken = replicatedScript(
      connection,
      async (...given) => {
        const answer = await run(...given);
        connection.disconnect(true);
        await until(async () => connection.status === "ready");
        return answer;
      },
      1,
    );
    await expect(broken("heartbeat", names, heartbeat)).rejects.toThrow(StoreUnavailable);
    await whole("heartbeat", names, heartbeat);
    connection.disconnect();
  });

  it("is missed, in a warning, where there are replicas and nobody waits for them, or fewer than are waited for", async () => {
    const warned = async (waitReplicas: number) => {
      const warnings: string[] = [];
      const log = { ...silentLog, warn: (_: object, text: string) => void warnings.push(text) };
      const fixture = await openStoreFixture(primary, { endpoint: { url: primary.url, waitReplicas }, log });
      await fixture.close();
      return warnings.join();
    };
    expect(await warned(0)).toMatch(/may run a command twice; set redis.wait_replicas/);
    expect(await warned(1)).toBe("");
    expect(await warned(2)).toMatch(/fewer replicas than redis.wait_replicas/);
  });

  it("is refused where no replica has it in time, so that its argv is not sent, and void when it is given back", async () => {
    const fixture = await openStoreFixture(primary, { endpoint: { url: primary.url, waitReplicas: 1 } });
    const session = aSession();
    await fixture.sessions.create(session);
    const { record } = await admitQueued(fixture, session);
    const fence = freshId("fen");
    replica.pause();
    try {
      await expect(claimFor(fixture, record.id, fence)).rejects.toThrow(StoreUnavailable);
    } finally {
      replica.resume();
    }
    // It was done on the primary all the same: what the worker does then undoes it.
    expect((await fixture.commands.get(record.id))?.state).toBe("dispatched");
    expect(await fixture.commands.giveBack(record.id, fence)).toBe(true);
    expect((await claimFor(fixture, record.id)).kind).toBe("claimed");
    await fixture.close();
  });

  it("dispatches under no fence that was given back, however late it comes through behind others' waits", async () => {
    const fixture = await openStoreFixture(primary, { endpoint: { url: primary.url, waitReplicas: 1 } });
    const session = aSession();
    await fixture.sessions.create(session);
    const ids: string[] = [];
    for (let at = 0; at < 8; at += 1) ids.push((await admitQueued(fixture, session)).record.id);
    const givenBack = new Set<string>();
    replica.pause();
    const endMs = performance.now() + 9_000;
    // What a worker does with each; the claims wait for the replica in one line and stay in it when they are given up.
    const attempts = async (id: string) => {
      while (performance.now() < endMs) {
        const fence = freshId("fen");
        const answer = await claimFor(fixture, id, fence).catch(() => null);
        expect(answer?.kind).not.toBe("claimed");
        await fixture.commands.giveBack(id, fence);
        givenBack.add(fence);
      }
    };
    try {
      await Promise.all(ids.map(attempts));
    } finally {
      replica.resume();
    }
    // Answered behind all that was in the line.
    await until(async () =>
      claimFor(fixture, ids[0] ?? "").then(
        () => true,
        () => false,
      ),
    );
    expect(givenBack.size).toBeGreaterThan(ids.length);
    for (const id of ids.slice(1)) expect(await fixture.commands.get(id)).toMatchObject({ state: "queued" });
    await fixture.close();
  });

  it("stands after the primary was killed: no command is dispatched a second time", async () => {
    const endpoint = { url: primary.url, waitReplicas: 1 };
    const fixture = await openStoreFixture(primary, { endpoint });
    const session = aSession();
    await fixture.sessions.create(session);
    const ids: string[] = [];
    for (let at = 0; at < 30; at += 1) ids.push((await admitQueued(fixture, session)).record.id);
    const claims = ids.map((id) =>
      claimFor(fixture, id).then(
        (answer) => ({ id, kind: answer.kind }),
        () => ({ id, kind: "unconfirmed" }),
      ),
    );
    // In the midst of them.
    await Promise.race(claims);
    await primary.kill();
    const confirmed = (await Promise.all(claims))
      .filter(({ kind }) => kind === "claimed")
      .map(({ id }) => id);
    await fixture.close();
    await toReplica.replicaof("NO", "ONE");
    const after = await openStoreFixture(replica, { deployment: fixture.deployment });
    expect(confirmed.length).toBeGreaterThan(0);
    for (const id of confirmed)
      expect(await claimFor(after, id)).toEqual({ kind: "not_queued", state: "dispatched" });
    await after.close();
  });
});
