import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Session } from "../../../src/domain/session.js";
import {
  aCompletedResult,
  admitQueued,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  openStoreFixture,
  type StoreFixture,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

const never = () => new AbortController().signal;

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

describe("waiting for the end of a command", () => {
  it("serves a thousand waits with one subscription", async () => {
    const records = await Promise.all(Array.from({ length: 100 }, () => admitQueued(fixture, session)));
    const waits = records.flatMap(({ record }) =>
      Array.from({ length: 10 }, () => fixture.commands.waitForEnd(record.id, 60_000, never())),
    );
    const clients = String(await fixture.redis.client("LIST"));
    const ours = clients.split("\n").filter((line) => line.includes("name=bailiff-"));
    expect(ours.map((line) => /name=(\S+)/.exec(line)?.[1]).sort()).toEqual([
      "bailiff-commands",
      "bailiff-subscriber",
    ]);
    await Promise.all(records.map(({ record }) => fixture.commands.endUnstarted(record.id, CANCELLED)));
    const ended = await Promise.all(waits);
    expect(ended.every((record) => record?.state === "finished")).toBe(true);
  });

  it("answers at once for a command that has ended, and null for one that never was", async () => {
    const { record } = await admitQueued(fixture, session);
    await fixture.commands.endUnstarted(record.id, CANCELLED);
    expect((await fixture.commands.waitForEnd(record.id, 60_000, never()))?.state).toBe("finished");
    expect(await fixture.commands.waitForEnd("cmd_none", 60_000, never())).toBeNull();
  });

  it("answers with what the command is when the time is over or the caller has gone", async () => {
    const { record } = await admitQueued(fixture, session);
    expect(await fixture.commands.waitForEnd(record.id, 50, never())).toEqual(record);
    expect(await fixture.commands.waitForEnd(record.id, 0, never())).toEqual(record);
    const gone = new AbortController();
    const waiting = fixture.commands.waitForEnd(record.id, 60_000, gone.signal);
    setTimeout(() => gone.abort(), 50);
    expect(await waiting).toEqual(record);
    expect(await fixture.commands.waitForEnd(record.id, 60_000, gone.signal)).toEqual(record);
  });

  it("finds by polling an end whose message never came", async () => {
    const { record } = await admitQueued(fixture, session);
    await claimFor(fixture, record.id, "fen_a");
    const waiting = fixture.commands.waitForEnd(record.id, 60_000, never());
    const lines = String(await fixture.redis.client("LIST")).split("\n");
    const subscriber = lines.find((line) => line.includes("name=bailiff-subscriber"));
    // As a message lost on the way: the subscription is gone before the end is told, and stays gone.
    await fixture.redis.call("ACL", "SETUSER", "default", "resetchannels");
    await fixture.redis.client("KILL", "ID", /id=(\d+)/.exec(subscriber ?? "")?.[1] ?? "");
    await fixture.redis.hset(`{bailiff:${fixture.deployment}}:cmd:${record.id}`, {
      state: "finished",
      result: JSON.stringify({ ...CANCELLED, output: undefined }),
    });
    expect((await waiting)?.state).toBe("finished");
    await fixture.redis.call("ACL", "SETUSER", "default", "allchannels");
  });

  it("ends with null for a command whose record vanished (FB-51)", async () => {
    const { record } = await admitQueued(fixture, session);
    const waiting = fixture.commands.waitForEnd(record.id, 60_000, never());
    await fixture.redis.flushall();
    expect(await waiting).toBeNull();
    expect(await fixture.commands.get(record.id)).toBeNull();
    expect(await claimFor(fixture, record.id)).toEqual({ kind: "not_queued", state: "missing" });
    expect(await fixture.commands.finish(record.id, "fen_a", aCompletedResult())).toBe(false);
    expect(await fixture.commands.requestCancel(record.id, CANCELLED)).toBe("missing");
  });

  it("answers what is stored, sent to the waiting process alone where it is short, and read where it is long", async () => {
    const sent: string[] = [];
    const subscriber = fixture.redis.duplicate();
    subscriber.on("pmessage", (_, channel: string) => sent.push(channel));
    await subscriber.psubscribe(`{bailiff:${fixture.deployment}}:changed:*`);
    const other = await openStoreFixture(server, { deployment: fixture.deployment });
    for (const [stdout, isAwaited, isSent] of [
      ['é"\\/\u0000\u2028\n', true, true],
      ["short", false, false],
      ["x".repeat(70_000), true, false],
    ] as const) {
      sent.length = 0;
      const { record } = await admitQueued(fixture, session, {}, { isAwaited });
      await claimFor(fixture, record.id, "fen_a");
      const waits = [fixture, fixture, other].map(({ commands }) =>
        commands.waitForEnd(record.id, 60_000, never(), record),
      );
      const result = aCompletedResult({ output: { stdout, stderr: "" } });
      expect(await other.commands.finish(record.id, "fen_a", result)).toBe(true);
      const stored = await other.commands.get(record.id);
      expect(stored?.result).toEqual(result);
      for (const ended of await Promise.all(waits)) expect(ended).toEqual(stored);
      // Behind everything that was published before on the same connection's server.
      await subscriber.ping();
      expect(sent).toHaveLength(isSent ? 1 : 0);
    }
    subscriber.disconnect();
    await other.close();
  });

  it("needs no read where the end was sent, and takes nothing for an end that is none", async () => {
    const { record } = await admitQueued(fixture, session, {}, { isAwaited: true });
    await claimFor(fixture, record.id, "fen_a");
    const stored = await fixture.redis.hgetall(`{bailiff:${fixture.deployment}}:cmd:${record.id}`);
    const waiting = fixture.commands.waitForEnd(record.id, 60_000, never(), record);
    const send = (fields: Readonly<Record<string, string>>) =>
      fixture.redis.publish(
        `{bailiff:${fixture.deployment}}:changed:${stored["answerTo"]}`,
        JSON.stringify(Object.entries(fields).flat()),
      );
    expect(await send(stored)).toBe(1);
    expect(await send({ ...stored, id: freshId("cmd"), state: "finished" })).toBe(1);
    // Not so in the store, where the command still is `dispatched`: what is answered was not read.
    expect(await send({ ...stored, state: "finished", result: "{}" })).toBe(1);
    expect((await waiting)?.state).toBe("finished");
  });

  it("goes on over a restart of Redis", async () => {
    const { record } = await admitQueued(fixture, session);
    const waiting = fixture.commands.waitForEnd(record.id, 60_000, never());
    // Behind the read that a wait begins with, which may be refused like any other while Redis is down.
    await fixture.commands.get(record.id);
    await server.restart();
    await until(() => fixture.isAnswering());
    expect(await fixture.commands.endUnstarted(record.id, CANCELLED)).toBe(true);
    expect((await waiting)?.state).toBe("finished");
  });

  it("is over when the stores are closed", async () => {
    const { record } = await admitQueued(fixture, session);
    const waiting = fixture.commands.waitForEnd(record.id, 60_000, never()).catch(() => null);
    await until(async () => (await fixture.commands.get(record.id)) !== null);
    await fixture.close();
    expect((await waiting)?.state).not.toBe("finished");
  });
});

describe("the feed of cancels", () => {
  it("tells a worker in another process, by message or, where that was lost, by looking", async () => {
    const { record } = await admitQueued(fixture, session);
    await claimFor(fixture, record.id, "fen_a");
    const worker = await openStoreFixture(server, { deployment: fixture.deployment });
    const heard: string[] = [];
    const stop = await worker.cancels.subscribe((commandId) => heard.push(commandId));
    await fixture.commands.requestCancel(record.id, CANCELLED);
    await until(async () => heard.includes(record.id));
    await stop();
    // A worker that subscribes afterwards missed the message.
    const late: string[] = [];
    const stopLate = await worker.cancels.subscribe((commandId) => late.push(commandId));
    expect(late).toEqual([record.id]);
    await stopLate();
    await fixture.commands.finish(record.id, "fen_a", aCompletedResult());
    const none: string[] = [];
    await (await worker.cancels.subscribe((commandId) => none.push(commandId)))();
    expect(none).toEqual([]);
    await worker.close();
  });
});
