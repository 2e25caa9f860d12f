import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createWebhookSender } from "../../../src/adapters/webhook/webhook-sender.js";
import { createDeliverWebhooks, type WebhookDeliveries } from "../../../src/app/webhooks/deliver-webhooks.js";
import { withDelivery } from "../../../src/app/webhooks/with-deliveries.js";
import { commandToWire } from "../../../src/contract/commands.js";
import type { CommandRecord } from "../../../src/domain/command.js";
import type { Session } from "../../../src/domain/session.js";
import type { WebhookEvent } from "../../../src/domain/webhook/webhook.js";
import { webhookSecret } from "../../../src/domain/webhook/webhook-signature.js";
import type { WebhookSender } from "../../../src/ports/webhook-sender.js";
import { createCapturedLog } from "../../support/captured-log.js";
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
import { type Receiver, startReceiver } from "../../support/webhook-receiver.js";

const DEPLOYMENT_SECRET = "0123456789abcdef0123456789abcdef";

let server: RedisServer;
let fixture: StoreFixture;
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  fixture = await openStoreFixture(server);
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  await fixture.close();
});

const receiver = async (answer?: (response: ServerResponse, count: number) => void): Promise<Receiver> => {
  const started = await startReceiver(
    answer === undefined ? {} : { answer: (response, _request, count) => answer(response, count) },
  );
  stops.push(() => started.stop());
  return started;
};

const senderFor = (ports: readonly number[], limitMs = 10_000): WebhookSender =>
  createWebhookSender({
    rules: { allowHttp: true, ports, allowAddresses: ["127.0.0.1"] },
    limitMs,
    userAgent: "bailiff/test",
  });

/** One process's deliveries, nudged and repeated as the process does it; stopped with the test. */
function deliver(
  stores: StoreFixture,
  sender: WebhookSender,
  more: { attempts?: number; counts?: Map<string, number>; log?: ReturnType<typeof createCapturedLog> } = {},
): WebhookDeliveries {
  const counts = more.counts ?? new Map<string, number>();
  const deliveries = createDeliverWebhooks({
    webhooks: stores.webhooks,
    commands: stores.commands,
    sender,
    render: (record) => JSON.stringify(commandToWire(record)),
    deploymentSecret: DEPLOYMENT_SECRET,
    schedule: { attempts: more.attempts ?? 5, firstRetryMs: 20, maxAgeMs: 60_000 },
    attemptLimitMs: 10_000,
    ids: { next: freshId },
    clock: { nowMs: () => Date.now() },
    chance: Math.random,
    log: more.log ?? createCapturedLog(),
    metrics: {
      count: (name, labels) => {
        if (name !== "bailiff_webhook_attempts_total") return;
        const result = labels?.["result"] ?? "";
        counts.set(result, (counts.get(result) ?? 0) + 1);
      },
      observe: () => undefined,
      gauge: () => undefined,
    },
  });
  const endNudges = stores.webhooks.onOwed(() => void deliveries.round().catch(() => undefined));
  const timer = setInterval(() => void deliveries.round().catch(() => undefined), 50);
  stops.push(async () => {
    clearInterval(timer);
    endNudges();
    await deliveries.stop();
  });
  return deliveries;
}

async function openSession(url: string, events: readonly WebhookEvent[] = ["awaiting_approval", "finished"]) {
  const session = aSession({ webhook: { url, events } });
  await fixture.sessions.create(session);
  return session;
}

/** A command of the session, admitted with its webhook as the submit does it. */
const admit = async (session: Session, given: Partial<CommandRecord> = {}) =>
  (
    await admitQueued(fixture, session, {
      ...(session.webhook ? { webhook: session.webhook } : {}),
      ...given,
    })
  ).record;

const shown = async (commandId: string) => {
  const record = await fixture.commands.get(commandId);
  return record === null ? null : withDelivery(record, fixture.webhooks);
};
const stateOf = async (commandId: string) => (await shown(commandId))?.webhookDelivery;
const settled = (commandId: string) =>
  until(async () => ((await stateOf(commandId))?.state ?? "pending") !== "pending");

describe("a webhook", () => {
  it("is told of the end: signed, with the JSON that GET answers, and its state is visible (FB-53)", async () => {
    const target = await receiver();
    deliver(fixture, senderFor([target.port]));
    const session = await openSession(`${target.url}?token=t`);
    const record = await admit(session);
    expect(await stateOf(record.id)).toBeUndefined();
    await claimFor(fixture, record.id, "fen_a");
    await fixture.commands.finish(record.id, "fen_a", aCompletedResult());
    await settled(record.id);

    expect(target.received).toHaveLength(1);
    const [first] = target.received;
    if (first === undefined) throw new Error("nothing was received");
    const { headers, body } = first;
    const [, t = "", v1 = ""] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["bailiff-signature"])) ?? [];
    const secret = webhookSecret(DEPLOYMENT_SECRET, session.id);
    expect(createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")).toBe(v1);
    expect(Math.abs(Date.now() / 1000 - Number(t))).toBeLessThan(60);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "bailiff-event": "finished",
      "bailiff-delivery": `${record.id}.finished`,
    });
    const { webhook: atSending, ...sent } = JSON.parse(body);
    const now = await shown(record.id);
    if (now === null) throw new Error("the record is gone");
    const { webhook, ...got } = commandToWire(now);
    expect(sent).toEqual(got);
    expect(atSending).toMatchObject({ event: "finished", state: "pending", attempts: 1 });
    expect(webhook).toEqual({
      event: "finished",
      state: "delivered",
      attempts: 1,
      last_status: 200,
      last_error_code: null,
      next_attempt_at: null,
      delivered_at: expect.stringMatching(/Z$/),
    });
  });

  it("is told of every kind of end, of the wait for approval, and of nothing it did not ask for", async () => {
    const target = await receiver();
    deliver(fixture, senderFor([target.port]));
    const all = await openSession(target.url);
    const endsOnly = await openSession(target.url, ["finished"]);
    const asked = await admit(all, { state: "awaiting_approval" });
    const quiet = await admit(endsOnly, { state: "awaiting_approval" });
    await until(async () => target.received.length === 1);
    await settled(asked.id);
    await fixture.commands.endUnstarted(asked.id, CANCELLED);
    const denied = await admit(endsOnly, { state: "finished" });
    const cancelled = await admit(endsOnly);
    await fixture.commands.requestCancel(cancelled.id, CANCELLED);
    // Removed with its commands still open: whoever cancels them still tells.
    const orphaned = await admit(endsOnly);
    await fixture.sessions.remove(endsOnly.tenant, endsOnly.id);
    await fixture.commands.requestCancel(orphaned.id, CANCELLED);
    for (const { id } of [asked, denied, cancelled, orphaned]) {
      await until(async () => (await stateOf(id))?.event === "finished");
      await settled(id);
    }
    expect(target.received.map(({ headers }) => headers["bailiff-delivery"]).sort()).toEqual(
      [
        `${asked.id}.awaiting_approval`,
        ...[asked, denied, cancelled, orphaned].map(({ id }) => `${id}.finished`),
      ].sort(),
    );
    expect(await stateOf(quiet.id)).toBeUndefined();
    const none = aSession();
    await fixture.sessions.create(none);
    const untold = await admit(none, { state: "finished" });
    expect(await stateOf(untold.id)).toBeUndefined();
  });

  it("is tried again until it is taken, and each attempt counts (FB-53)", async () => {
    const target = await receiver((response, count) => {
      response.statusCode = count < 3 ? 500 : 200;
      response.end();
    });
    const counts = new Map<string, number>();
    deliver(fixture, senderFor([target.port]), { counts });
    const record = await admit(await openSession(target.url), { state: "finished" });
    await settled(record.id);
    expect(await stateOf(record.id)).toMatchObject({ state: "delivered", attempts: 3, lastStatus: 200 });
    expect(new Set(target.received.map(({ headers }) => headers["bailiff-delivery"])).size).toBe(1);
    expect([...counts].sort()).toEqual([
      ["delivered", 1],
      ["retried", 2],
    ]);
  });

  it("is given up after its last attempt, not silently (FB-53)", async () => {
    const target = await receiver((response) =>
      response.writeHead(302, { location: "http://127.0.0.1/" }).end(),
    );
    const log = createCapturedLog();
    deliver(fixture, senderFor([target.port]), { attempts: 3, log });
    const record = await admit(await openSession(`${target.url}?token=s3cret`), { state: "finished" });
    await settled(record.id);
    expect(await stateOf(record.id)).toMatchObject({
      state: "failed",
      attempts: 3,
      lastStatus: 302,
      lastErrorCode: "redirect_refused",
      nextAttemptAtMs: null,
      deliveredAtMs: null,
    });
    expect(log.lines.filter((line) => line.level === "warn").map((line) => line.message)).toEqual([
      "a webhook was given up",
    ]);
    expect(JSON.stringify(log.lines)).not.toContain("s3cret");
  });

  it("is blocked where its target is not allowed: not sent, not tried again, counted and logged (FB-53)", async () => {
    const target = await receiver();
    const log = createCapturedLog();
    const counts = new Map<string, number>();
    deliver(fixture, senderFor([target.port, 80]), { counts, log });
    for (const [url, code] of [
      ["http://169.254.169.254/", "address_metadata"],
      ["http://[::1]/", "address_loopback"],
      [`http://127.0.0.2:${target.port}/`, "address_loopback"],
      ["http://127.0.0.1:22/", "url_port"],
    ] as const) {
      const record = await admit(await openSession(url), { state: "finished" });
      await settled(record.id);
      expect(await stateOf(record.id)).toMatchObject({
        state: "blocked",
        attempts: 1,
        lastStatus: null,
        lastErrorCode: code,
        nextAttemptAtMs: null,
      });
    }
    expect(counts).toEqual(new Map([["blocked", 4]]));
    expect(log.lines.filter((line) => line.level === "warn")).toHaveLength(4);
    expect(target.received).toEqual([]);
  });

  it("keeps nothing secret in Redis", async () => {
    const target = await receiver();
    deliver(fixture, senderFor([target.port]));
    const session = await openSession(target.url);
    const record = await admit(session, { state: "finished" });
    await settled(record.id);
    const kept: string[] = [];
    for (const key of await fixture.redis.keys("*")) {
      const type = await fixture.redis.type(key);
      if (type === "hash") kept.push(JSON.stringify(await fixture.redis.hgetall(key)));
      if (type === "zset") kept.push(JSON.stringify(await fixture.redis.zrange(key, 0, -1)));
    }
    expect(kept.join()).not.toContain(webhookSecret(DEPLOYMENT_SECRET, session.id));
    expect(kept.join()).not.toContain(DEPLOYMENT_SECRET);
    expect(kept.join()).not.toMatch(/whsec_/);
  });
});

describe("several processes and their ends", () => {
  it("deliver each event once where nothing fails", async () => {
    const target = await receiver();
    const other = await openStoreFixture(server, { deployment: fixture.deployment });
    stops.push(() => other.close());
    for (const stores of [fixture, other]) deliver(stores, senderFor([target.port]));
    const session = await openSession(target.url, ["finished"]);
    const records = await Promise.all(Array.from({ length: 100 }, () => admit(session)));
    await Promise.all(records.map(({ id }) => fixture.commands.endUnstarted(id, CANCELLED)));
    for (const { id } of records) await settled(id);
    const told = target.received.map(({ headers }) => headers["bailiff-delivery"]);
    expect(told.sort()).toEqual(records.map(({ id }) => `${id}.finished`).sort());
  });

  it("go on after a restart of Redis and of the process in the middle", async () => {
    let isUp = false;
    const target = await receiver((response) => {
      response.statusCode = isUp ? 200 : 503;
      response.end();
    });
    const session = await openSession(target.url);
    const first = deliver(fixture, senderFor([target.port]), { attempts: 1_000 });
    const record = await admit(session, { state: "finished" });
    await until(async () => target.received.length >= 2);
    await first.stop();
    const before = (await stateOf(record.id))?.attempts ?? 0;
    await server.restart();
    await until(() => fixture.isAnswering());
    expect(await stateOf(record.id)).toMatchObject({ state: "pending", lastStatus: 503 });
    isUp = true;
    deliver(fixture, senderFor([target.port]), { attempts: 1_000 });
    await settled(record.id);
    const end = await stateOf(record.id);
    expect(end?.state).toBe("delivered");
    expect(end?.attempts).toBeGreaterThan(before);
  });

  it("take over what a dead one had begun, and its late word counts for nothing", async () => {
    const session = await openSession("http://127.0.0.1/");
    const record = await admit(session, { state: "finished" });
    const [due] = await fixture.webhooks.due(10);
    if (due === undefined) throw new Error("nothing is due");
    expect(due).toEqual({ commandId: record.id, tenant: "acme", sessionId: session.id, event: "finished" });
    expect(await fixture.webhooks.claim(due, "one", 300)).toEqual({ attempts: 1, ageMs: 0 });
    expect(await fixture.webhooks.claim(due, "two", 60_000)).toBeNull();
    expect((await fixture.webhooks.due(10)).filter((each) => each.commandId !== record.id)).toEqual([]);
    await until(async () => (await fixture.webhooks.claim(due, "two", 60_000)) !== null);
    const delivered = { state: "delivered", retryMs: null, status: 200, errorCode: null } as const;
    expect(await fixture.webhooks.settle(due, "one", delivered)).toBe(false);
    expect(await stateOf(record.id)).toMatchObject({ state: "pending", attempts: 2 });
    expect(await fixture.webhooks.settle(due, "two", delivered)).toBe(true);
    expect(await fixture.webhooks.settle(due, "two", delivered)).toBe(false);
    expect(await stateOf(record.id)).toMatchObject({
      state: "delivered",
      attempts: 2,
      nextAttemptAtMs: null,
    });
    expect(await fixture.webhooks.claim(due, "three", 1)).toBeNull();
  });

  it("are cut off by a stop, and what was cut off is due again", async () => {
    const target = await receiver(() => undefined);
    const deliveries = deliver(fixture, senderFor([target.port]));
    const record = await admit(await openSession(target.url), { state: "finished" });
    await until(async () => target.received.length === 1);
    await deliveries.stop();
    expect(await stateOf(record.id)).toMatchObject({
      state: "pending",
      attempts: 1,
      lastErrorCode: "interrupted",
      nextAttemptAtMs: expect.any(Number),
    });
  });

  it("hold up one tenant's slow receiver and nobody else", async () => {
    const slow = await receiver(() => undefined);
    const quick = await receiver();
    deliver(fixture, senderFor([slow.port, quick.port]));
    const slowSession = await openSession(slow.url);
    await Promise.all(Array.from({ length: 40 }, () => admit(slowSession, { state: "finished" })));
    await until(async () => slow.received.length === 8);
    const rivals = aSession({ tenant: "rival", webhook: { url: quick.url, events: ["finished"] } });
    await fixture.sessions.create(rivals);
    const record = await admit(rivals, { state: "finished" });
    await settled(record.id);
    expect((await stateOf(record.id))?.state).toBe("delivered");
    expect(slow.received).toHaveLength(8);
  });
});

describe("what is kept of a delivery", () => {
  it("is not kept for ever where nobody delivers", async () => {
    const session = await openSession("http://127.0.0.1/");
    const due = `{bailiff:${fixture.deployment}}:webhooks-due`;
    // Since before any result that is still kept.
    await fixture.redis.zadd(due, Date.now() - 3_600_000, "cmd_old|acme|ses_old|finished");
    const record = await admit(session, { state: "finished" });
    expect(await fixture.redis.zrange(due, 0, -1)).toEqual([`${record.id}|acme|${session.id}|finished`]);
  });

  it("goes with the result, and a debt of a record that is gone is settled", async () => {
    const target = await receiver();
    const session = await openSession(target.url);
    const record = await admit(session, { state: "finished" });
    await fixture.redis.del(`{bailiff:${fixture.deployment}}:cmd:${record.id}`);
    deliver(fixture, senderFor([target.port]));
    await until(async () => (await fixture.webhooks.due(10)).length === 0);
    const key = `{bailiff:${fixture.deployment}}:webhook:${record.id}:finished`;
    await until(async () => (await fixture.redis.hget(key, "state")) === "failed");
    expect(await fixture.redis.hget(key, "lastErrorCode")).toBe("command_gone");
    expect(await fixture.redis.pttl(key)).toBeGreaterThan(0);
    expect(target.received).toEqual([]);
  });
});
