import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createKeys } from "../../../src/adapters/redis/keys.js";
import { createExpireApprovals } from "../../../src/app/approvals/expire-approvals.js";
import { admitAsked } from "../../support/asked-command.js";
import {
  aCompletedResult,
  admitQueued,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  openStoreFixture,
  type StoreFixture,
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";

const NEWER = /command record of format 3: written by a newer Bailiff/;
/** As of a worker that never was. */
const NO_LEASE = "wrk_gone";

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

const keyOf = (commandId: string) => createKeys(fixture.deployment).command(commandId);
const hashOf = (commandId: string) => fixture.redis.hgetall(keyOf(commandId));

/** Makes a record look as a newer version would have written it. */
const renew = (commandId: string, more: Record<string, string> = {}) =>
  fixture.redis.hset(keyOf(commandId), { formatVersion: "3", ...more });

async function openSession() {
  const session = aSession();
  await fixture.sessions.create(session);
  return session;
}

describe("a record of a format that this version does not know", () => {
  it("is neither dispatched nor ended nor changed while it is queued, and stays for the version that knows it", async () => {
    const session = await openSession();
    const { record } = await admitQueued(fixture, session);
    await renew(record.id);
    const before = await hashOf(record.id);

    await expect(fixture.commands.get(record.id)).rejects.toThrow(NEWER);
    await expect(claimFor(fixture, record.id)).rejects.toThrow(NEWER);
    await expect(fixture.commands.endUnstarted(record.id, CANCELLED)).rejects.toThrow(NEWER);
    await expect(fixture.commands.requestCancel(record.id, CANCELLED)).rejects.toThrow(NEWER);

    expect(await hashOf(record.id)).toEqual(before);
    expect(await fixture.redis.pttl(keyOf(record.id))).toBe(-1);
    expect((await fixture.commands.counts()).queued).toBe(1);
    await fixture.redis.hset(keyOf(record.id), { formatVersion: "2" });
    expect((await claimFor(fixture, record.id)).kind).toBe("claimed");
  });

  it("is neither ended nor declared lost nor given back once it is dispatched", async () => {
    const session = await openSession();
    const { record } = await admitQueued(fixture, session);
    const fence = freshId("fen");
    await claimFor(fixture, record.id, fence);
    await renew(record.id, { workerId: NO_LEASE });
    const before = await hashOf(record.id);

    await expect(fixture.commands.finish(record.id, fence, aCompletedResult())).rejects.toThrow(NEWER);
    await expect(fixture.commands.giveBack(record.id, fence)).rejects.toThrow(NEWER);
    await expect(fixture.leases.declareLost(record.id, fence, CANCELLED)).rejects.toThrow(NEWER);

    expect(await hashOf(record.id)).toEqual(before);
  });

  it("keeps no other command from its end or its place in the queue", async () => {
    const session = await openSession();
    const newer = await admitQueued(fixture, session);
    const queued = await admitQueued(fixture, session);
    await renew(newer.record.id);
    const newerGone = await admitQueued(fixture, session);
    const gone = await admitQueued(fixture, session);
    for (const { record } of [newerGone, gone]) {
      await claimFor(fixture, record.id);
      await fixture.redis.hset(keyOf(record.id), { workerId: NO_LEASE });
    }
    await renew(newerGone.record.id);
    const newerAsked = await admitAsked(fixture, session);
    const asked = await admitAsked(fixture, await openSession());
    for (const { id } of [newerAsked, asked]) {
      await fixture.redis.hset(keyOf(id), { approvalExpiresAtMs: "1" });
      await fixture.redis.zadd(createKeys(fixture.deployment).approvalsDue, 1, id);
    }
    await renew(newerAsked.id);

    const query = { tenant: session.tenant, sessionId: null, state: null, limit: 10, cursor: null };
    const listed = (await fixture.commands.list(query)).records.map(({ id }) => id);
    expect(listed.sort()).toEqual([queued.record.id, gone.record.id, asked.id].sort());
    expect((await fixture.leases.unqueued(0, 10)).map(({ id }) => id)).toEqual([queued.record.id]);
    expect((await fixture.leases.orphaned(10)).map(({ record }) => record.id)).toEqual([gone.record.id]);
    const expire = createExpireApprovals({ ...fixture, log: silentLog, metrics: silentMetrics });
    expect(await expire()).toBe(1);
    expect((await fixture.commands.get(asked.id))?.result?.outcome).toBe("approval_expired");
    expect((await hashOf(newerAsked.id))["state"]).toBe("awaiting_approval");
  });
});
