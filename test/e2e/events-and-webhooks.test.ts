import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { followStream } from "../support/event-stream-client.js";
import { type Received, type Receiver, startReceiver } from "../support/webhook-receiver.js";

const SECRET = "e2e-secret-of-this-deployment-0123456789";

let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;
let receiver: Receiver;
let refusals = 0;

beforeAll(async () => {
  receiver = await startReceiver({
    answer: (response, { path }) => {
      refusals -= path === "/hook" ? 1 : 0;
      response.statusCode = refusals >= 0 && path === "/hook" ? 500 : 200;
      response.end();
    },
  });
  installation = await createInstallation({
    webhooks: {
      secret: SECRET,
      allow_http: true,
      ports: [receiver.port, 443],
      allow_addresses: ["127.0.0.1"],
      retry_ms: 100,
    },
    server: { port: 0, tenant_event_streams: 3 },
  });
  bailiff = await installation.start("all");
  agent = await openAgent(installation, bailiff);
});

afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
  await receiver?.stop();
});

const openSession = (webhook: unknown, more: Record<string, unknown> = {}) =>
  bailiff.call(agent.key, "POST", "/v1/sessions", {
    workspace_id: "main",
    grant: { level: "allow_all" },
    webhook,
    ...more,
  });
const submit = (sessionId: string, argv: readonly string[]) =>
  bailiff.call(agent.key, "POST", `/v1/sessions/${sessionId}/commands`, { argv });
const get = async (commandId: string) =>
  (await bailiff.call(agent.key, "GET", `/v1/commands/${commandId}?wait=30`)).body;
const told = (commandId: string, event = "finished") =>
  receiver.received.filter(({ headers }) => headers["bailiff-delivery"] === `${commandId}.${event}`);

function isSigned({ headers, body }: Received, secret: string): boolean {
  const [, t = "", v1 = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["bailiff-signature"])) ?? [];
  return createHmac("sha256", secret).update(`${t}.${body}`).digest("hex") === v1;
}

describe("the events of a command", () => {
  test("come once each over drops, and end with the end (FB-11)", async () => {
    const { body } = await agent.submit(["sh", "-c", "echo s3cret; sleep 3"], {}, {});
    const url = `${bailiff.url}/v1/commands/${body.command_id}/events`;
    const whole = await followStream(url, agent.key);
    const first = await followStream(url, agent.key);
    await first.until("queued");
    first.leave();
    const second = await followStream(url, agent.key, 3);
    await second.until("dispatched");
    second.leave();
    const third = await followStream(url, agent.key, 4);
    await third.ended();
    await whole.ended();
    expect(second.events.map(({ event }) => event)).toEqual(["dispatched"]);
    expect(third.events.map(({ event }) => event)).toEqual(["finished"]);
    expect(whole.events.map(({ id }) => id)).toEqual(["1", "3", "4", "6"]);
    expect(JSON.parse(third.events[0]?.data ?? "")).toMatchObject({ outcome: "completed", returncode: 0 });
    expect(whole.text()).not.toContain("s3cret");
    const over = await bailiff.call(agent.key, "GET", `/v1/commands/${body.command_id}/events`, undefined, {
      "last-event-id": "6",
    });
    expect(over.status).toBe(204);
    const late = await followStream(url, agent.key);
    await late.ended();
    expect(late.events.map(({ id, data }) => [id, data])).toEqual(
      whole.events.map(({ id, data }) => [id, data]),
    );
  });

  test("tell of a cancel, are another tenant's 404, and are bounded", async () => {
    const { body } = await agent.submit(["sleep", "60"], {}, {});
    const path = `/v1/commands/${body.command_id}/events`;
    const streams = await Promise.all([1, 2, 3].map(() => followStream(`${bailiff.url}${path}`, agent.key)));
    await Promise.all(streams.map((stream) => stream.until("dispatched")));
    const refused = await bailiff.call(agent.key, "GET", path);
    expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
      429,
      "quota_exceeded",
      "5",
    ]);
    const rival = await installation.key("rival");
    expect((await bailiff.call(rival, "GET", path)).status).toBe(404);
    await bailiff.call(agent.key, "POST", `/v1/commands/${body.command_id}/cancel`);
    for (const stream of streams) {
      await stream.ended();
      expect(stream.events.map(({ event }) => event)).toEqual([
        "created",
        "queued",
        "dispatched",
        "cancel_requested",
        "finished",
      ]);
    }
  });
});

describe("a session's webhook", () => {
  test("gets what GET answers, signed, tried again after a 500, with its state to be seen (FB-53)", async () => {
    const opened = await openSession({ url: receiver.url });
    expect(opened.status).toBe(201);
    const { session_id: sessionId, webhook_secret: secret, webhook } = opened.body;
    expect(webhook).toEqual({ url: receiver.url, events: ["awaiting_approval", "finished"] });
    const seen = await bailiff.call(agent.key, "GET", `/v1/sessions/${sessionId}`);
    expect(JSON.stringify(seen.body)).not.toContain("whsec_");
    refusals = 2;
    const { body } = await submit(sessionId, ["sh", "-c", "echo \u00e9; exit 3"]);
    await expect
      .poll(async () => (await get(body.command_id)).webhook?.state, { timeout: 60_000 })
      .toBe("delivered");
    const attempts = told(body.command_id);
    expect(attempts).toHaveLength(3);
    for (const attempt of attempts) expect(isSigned(attempt, secret)).toBe(true);
    const { webhook: delivery, ...command } = await get(body.command_id);
    const { webhook: _atSending, ...sent } = JSON.parse(attempts[2]?.body ?? "{}");
    expect(sent).toEqual(command);
    expect(sent).toMatchObject({ outcome: "completed", returncode: 3, stdout: "\u00e9\n" });
    expect(delivery).toMatchObject({
      event: "finished",
      attempts: 3,
      last_status: 200,
      next_attempt_at: null,
    });
    const metrics = (await bailiff.call(agent.key, "GET", "/metrics")).body;
    expect(metrics).toMatch(/bailiff_webhook_attempts_total\{result="delivered"\} [1-9]/);
  });

  test("is told of a wait for a person, in the one rendering that the approval itself has", async () => {
    const opened = await openSession(
      { url: receiver.url, events: ["awaiting_approval"] },
      {
        grant: { level: "allowlist" },
      },
    );
    const { body } = await submit(opened.body.session_id, ["touch", "as\u202eked  "]);
    expect(body.state).toBe("awaiting_approval");
    await expect.poll(() => told(body.command_id, "awaiting_approval").length, { timeout: 30_000 }).toBe(1);
    const sent = JSON.parse(told(body.command_id, "awaiting_approval")[0]?.body ?? "{}");
    const approval = (await bailiff.call(agent.key, "GET", `/v1/approvals/${body.approval_id}`)).body;
    const { argv_text, ...rendering } = approval.rendering;
    expect(argv_text).toBe('["touch","as\\u202eked\\u0020\\u0020"]');
    expect(sent).toMatchObject({
      command_id: body.command_id,
      state: "awaiting_approval",
      approval: { approval_id: approval.approval_id, state: "pending", rendering },
    });
    expect(sent.approval.rendering).toEqual(rendering);
  });

  test("can't be one that leads inside, and a name that does is blocked and seen (FB-53)", async () => {
    for (const url of [
      "https://169.254.169.254/",
      "https://[::ffff:127.0.0.2]/",
      "https://2130706434/",
      "https://user:pw@example.com/",
      "https://example.com:22/",
      "ftp://example.com/",
    ]) {
      const answer = await openSession({ url });
      expect([url, answer.status, answer.body.code]).toEqual([url, 400, "invalid_request"]);
      expect(answer.body.errors[0].path).toBe("/webhook/url");
    }
    expect((await openSession({ url: receiver.url, secret: "x" })).status).toBe(400);
    expect((await openSession({ url: receiver.url, events: ["queued"] })).status).toBe(400);
  });

  test("survives the process: what was owed is delivered by the next one", async () => {
    const opened = await openSession({ url: receiver.url });
    refusals = 1_000;
    const { body } = await submit(opened.body.session_id, ["true"]);
    await expect.poll(() => told(body.command_id).length, { timeout: 30_000 }).toBeGreaterThan(0);
    await bailiff.stop();
    refusals = 0;
    bailiff = await installation.start("all");
    await expect
      .poll(async () => (await get(body.command_id)).webhook?.state, { timeout: 60_000 })
      .toBe("delivered");
    expect(isSigned(told(body.command_id).at(-1) as Received, opened.body.webhook_secret)).toBe(true);
  });

  test("is refused clearly where webhooks are not configured; streams end with the process", async () => {
    const { body } = await submit(agent.sessionId, ["sleep", "30"]);
    const stream = await followStream(`${bailiff.url}/v1/commands/${body.command_id}/events`, agent.key);
    await stream.until("created");
    const stopped = bailiff.stop();
    await stream.ended();
    expect(await stopped).toBe(0);
    expect(await bailiff.log()).not.toContain(SECRET);
    bailiff = await installation.start("all", { webhooks: { secret: null } });
    const refused = await openSession({ url: receiver.url });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [{ path: "/webhook", message: "webhooks are not configured here (webhooks.secret)" }],
    ]);
  });
});
