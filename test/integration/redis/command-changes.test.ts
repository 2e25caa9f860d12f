import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createEventServices } from "../../../src/app/events/event-services.js";
import { createTenantSlots } from "../../../src/app/tenant-slots.js";
import type { CommandEvent } from "../../../src/domain/command-events.js";
import type { Session } from "../../../src/domain/session.js";
import type { Principal } from "../../../src/ports/authenticator.js";
import {
  aCompletedResult,
  admitQueued,
  aSession,
  CANCELLED,
  claimFor,
  openStoreFixture,
  type StoreFixture,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

const READER: Principal = {
  id: "reader",
  tenant: "acme",
  scopes: new Set(["commands:read"]),
  method: "api_key",
};

let server: RedisServer;
let fixture: StoreFixture;
let session: Session;

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  fixture = await openStoreFixture(server);
  session = aSession();
  await fixture.sessions.create(session);
});
afterEach(() => fixture.close());

const servicesOf = (stores: StoreFixture, bounds = { perProcess: 1_000, perTenant: 1_000 }) =>
  createEventServices({
    ...stores,
    slots: createTenantSlots(
      { ...bounds, things: "event streams", quota: "eventStreams", gauge: "bailiff_event_streams_open" },
      silentMetrics,
    ),
  });

/** A client of one stream: what it has received, and how to drop. */
async function follow(services: ReturnType<typeof servicesOf>, commandId: string, afterId = 0) {
  const dropping = new AbortController();
  const start = await services.followCommand(READER, commandId, afterId, dropping.signal);
  const ids: number[] = [];
  let isOver = false;
  start?.(
    (event: CommandEvent) => ids.push(event.id),
    () => {
      isOver = true;
    },
  );
  return {
    ids,
    isOver: () => isOver,
    until: (id: number) => until(async () => ids.includes(id)),
    drop: () => dropping.abort(),
  };
}

describe("the events of a command's life", () => {
  it("come once each, in order, from whichever process a client comes back to (FB-11)", async () => {
    const other = await openStoreFixture(server, { deployment: fixture.deployment });
    const [here, there] = [servicesOf(fixture), servicesOf(other)];
    const { record } = await admitQueued(fixture, session);
    const whole = await follow(there, record.id);
    const first = await follow(here, record.id);
    await first.until(3);
    first.drop();
    await claimFor(fixture, record.id, "fen_a");
    const second = await follow(there, record.id, 3);
    await second.until(4);
    await fixture.commands.requestCancel(record.id, CANCELLED);
    await second.until(5);
    second.drop();
    await fixture.commands.finish(record.id, "fen_a", aCompletedResult());
    const third = await follow(here, record.id, 5);
    await until(async () => third.isOver() && whole.isOver());
    expect([first.ids, second.ids, third.ids]).toEqual([[1, 3], [4, 5], [6]]);
    expect(whole.ids).toEqual([1, 3, 4, 5, 6]);
    await other.close();
  });

  it("are not repeated for a command that was given back and dispatched again", async () => {
    const services = servicesOf(fixture);
    const { record } = await admitQueued(fixture, session);
    const stream = await follow(services, record.id);
    await claimFor(fixture, record.id, "fen_a");
    await stream.until(4);
    await fixture.commands.giveBack(record.id, "fen_a");
    await claimFor(fixture, record.id, "fen_b");
    await fixture.commands.finish(record.id, "fen_b", aCompletedResult());
    await until(async () => stream.isOver());
    expect(stream.ids).toEqual([1, 3, 4, 6]);
  });

  it("go on over a restart of Redis, also those that happen at once behind it (FB-11)", async () => {
    const services = servicesOf(fixture);
    const { record } = await admitQueued(fixture, session);
    const stream = await follow(services, record.id);
    await stream.until(3);
    await server.restart();
    const other = await openStoreFixture(server, { deployment: fixture.deployment });
    await claimFor(other, record.id, "fen_a");
    await other.commands.finish(record.id, "fen_a", aCompletedResult());
    await until(async () => stream.isOver());
    expect(stream.ids).toEqual([1, 3, 4, 6]);
    await other.close();
  });

  it("are found by polling where the messages never come", async () => {
    const services = servicesOf(fixture);
    const { record } = await admitQueued(fixture, session);
    const stream = await follow(services, record.id);
    await stream.until(3);
    const lines = String(await fixture.redis.client("LIST")).split("\n");
    const subscriber = lines.find((line) => line.includes("name=bailiff-subscriber"));
    await fixture.redis.call("ACL", "SETUSER", "default", "resetchannels");
    await fixture.redis.client("KILL", "ID", /id=(\d+)/.exec(subscriber ?? "")?.[1] ?? "");
    await fixture.redis.hset(`{bailiff:${fixture.deployment}}:cmd:${record.id}`, {
      state: "dispatched",
      dispatchedAtMs: "5",
    });
    await stream.until(4);
    await fixture.redis.hset(`{bailiff:${fixture.deployment}}:cmd:${record.id}`, { cancelRequested: "1" });
    await stream.until(5);
    await fixture.redis.call("ACL", "SETUSER", "default", "allchannels");
    stream.drop();
  });

  it("cost no connection and no poll of their own, whatever the number of streams", async () => {
    const services = servicesOf(fixture);
    const { record } = await admitQueued(fixture, session);
    const streams = await Promise.all(Array.from({ length: 300 }, () => follow(services, record.id)));
    await Promise.all(streams.map((stream) => stream.until(3)));
    const clients = String(await fixture.redis.client("LIST")).split("\n");
    expect(clients.filter((line) => line.includes("name=bailiff-"))).toHaveLength(2);
    await fixture.commands.endUnstarted(record.id, CANCELLED);
    await until(async () => streams.every((stream) => stream.isOver()));
    expect(new Set(streams.map((stream) => stream.ids.join()))).toEqual(new Set(["1,3,6"]));
  });

  it("end when the record vanishes and when the stores are closed", async () => {
    const services = servicesOf(fixture);
    const { record } = await admitQueued(fixture, session);
    const orphan = await follow(services, record.id);
    await orphan.until(3);
    await fixture.redis.flushall();
    await until(async () => orphan.isOver());
    await fixture.sessions.create(session);
    const { record: next } = await admitQueued(fixture, session);
    const last = await follow(services, next.id);
    await last.until(3);
    await fixture.close();
    await until(async () => last.isOver());
    expect(last.ids).toEqual([1, 3]);
  });

  it("are another tenant's not at all, and nothing follows the end", async () => {
    const services = servicesOf(fixture);
    const { record } = await admitQueued(fixture, session);
    const signal = new AbortController().signal;
    const rival: Principal = { ...READER, tenant: "rival" };
    await expect(services.followCommand(rival, record.id, 0, signal)).rejects.toMatchObject({
      code: "not_found",
    });
    await expect(
      services.followCommand({ ...READER, scopes: new Set() }, record.id, 0, signal),
    ).rejects.toMatchObject({ code: "insufficient_scope" });
    await expect(services.followCommand(READER, "cmd_x", 0, signal)).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await services.followCommand(READER, record.id, 6, signal)).toBeNull();
  });

  it("are bounded per tenant and per process, and a stream that ends makes room", async () => {
    const services = servicesOf(fixture, { perProcess: 3, perTenant: 2 });
    const { record } = await admitQueued(fixture, session);
    const rivals = aSession({ tenant: "rival" });
    await fixture.sessions.create(rivals);
    const { record: theirs } = await admitQueued(fixture, rivals);
    const rival: Principal = { ...READER, tenant: "rival" };
    const open = [await follow(services, record.id), await follow(services, record.id)];
    await expect(follow(services, record.id)).rejects.toMatchObject({
      code: "quota_exceeded",
      retryAfterMs: 5_000,
      extensions: { limit: 2 },
    });
    const leaving = new AbortController();
    await services.followCommand(rival, theirs.id, 0, leaving.signal);
    await expect(
      services.followCommand(rival, theirs.id, 0, new AbortController().signal),
    ).rejects.toMatchObject({ code: "quota_exceeded", extensions: { limit: 3 } });
    // Also a stream that was never begun gives its place back.
    leaving.abort();
    open[0]?.drop();
    open.push(await follow(services, record.id));
    await fixture.commands.endUnstarted(record.id, CANCELLED);
    await until(async () => open.every((stream) => stream.isOver()));
    open.push(await follow(services, record.id), await follow(services, record.id));
    await until(async () => open.every((stream) => stream.isOver()));
  });
});
