import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { containersOf } from "../support/engine-containers.js";
import { startRedisServer } from "../support/redis-server.js";
import { startTraceReceiver } from "../support/trace-receiver.js";

let installation: Installation;

beforeEach(async () => {
  installation = await createInstallation({ worker: { warm: { idle_ms: 1_000 } } });
});

afterEach(async () => {
  await installation.remove();
});

test("SIGTERM ends what still runs at the end of the grace, records it and exits 0 (FB-50)", async () => {
  const bailiff = await installation.start("all", { worker: { shutdown_grace_ms: 6_000 } });
  const agent = await openAgent(installation, bailiff);
  const running = await agent.submit(
    ["sh", "-c", "echo began >> ledger; sleep 90; echo ended >> ledger"],
    { timeout_s: 200 },
    {},
  );
  const path = `/v1/commands/${running.body.command_id}`;
  await expect
    .poll(async () => (await bailiff.call(agent.key, "GET", path)).body.state, { timeout: 20_000 })
    .toBe("dispatched");
  expect(await bailiff.stop()).toBe(0);
  expect(await containersOf(installation.deployment)).toEqual([]);

  const again = await installation.start("all");
  const end = await again.call(agent.key, "GET", path);
  expect(end.body).toMatchObject({ state: "finished", outcome: "cancelled", effect: "unknown" });
  expect(await readFile(join(agent.directory, "ledger"), "utf8")).toBe("began\n");
  expect(await again.stop()).toBe(0);
});

test("a killed service loses nothing: what ran is lost, what was queued runs once (FB-43, FB-45)", async () => {
  const bailiff = await installation.start("all", { worker: { concurrency: 1 } });
  const agent = await openAgent(installation, bailiff);
  const running = await agent.submit(["sh", "-c", "echo first >> ledger; sleep 90"], { timeout_s: 200 }, {});
  await expect
    .poll(() => readFile(join(agent.directory, "ledger"), "utf8").catch(() => ""), { timeout: 20_000 })
    .toBe("first\n");
  const queued = await agent.submit(["sh", "-c", "echo second >> ledger"], {}, {});
  await bailiff.kill();

  const again = await installation.start("all", { worker: { concurrency: 1 } });
  const second = await again.call(agent.key, "GET", `/v1/commands/${queued.body.command_id}?wait=60`);
  expect(second.body).toMatchObject({ outcome: "completed", returncode: 0 });
  const first = await again.call(agent.key, "GET", `/v1/commands/${running.body.command_id}?wait=60`);
  expect(first.body).toMatchObject({ outcome: "lost", effect: "unknown", returncode: null });
  expect(await readFile(join(agent.directory, "ledger"), "utf8")).toBe("first\nsecond\n");
  await expect.poll(() => containersOf(installation.deployment), { timeout: 60_000 }).toEqual([]);
  expect(await again.stop()).toBe(0);
});

test("argv and output are in no log at info level, and every line of a command names it", async () => {
  const bailiff = await installation.start("all");
  const agent = await openAgent(installation, bailiff);
  const { body } = await agent.submit(["echo", "very-secret-word"]);
  expect(body.stdout).toBe("very-secret-word\n");
  const log = await bailiff.log();
  expect(log).not.toContain("very-secret-word");
  expect(log).not.toContain(agent.key.slice(-20));
  const lines = log
    .split("\n")
    .filter((line) => line.includes("command dispatched") || line.includes("command finished"));
  expect(lines.map((line) => JSON.parse(line).command_id)).toEqual([body.command_id, body.command_id]);
  await bailiff.stop();
});

test("one trace follows a command through API, queue and worker, and tells neither argv nor secrets", async () => {
  const [redis, collector] = await Promise.all([startRedisServer(), startTraceReceiver()]);
  try {
    const settings = {
      redis: { url: redis.url },
      telemetry: { otlp_endpoint: collector.endpoint, otlp_authorization: "Bearer for-the-collector" },
    };
    const api = await installation.start("api", settings);
    const worker = await installation.start("worker", settings);
    const agent = await openAgent(installation, api);
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const { body } = await agent.submit(
      ["echo", "very-secret-word"],
      { reason: "very-secret-reason" },
      { prefer: "wait=60", traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    );
    expect(body).toMatchObject({ outcome: "completed", stdout: "very-secret-word\n" });
    // An end sends what is left.
    expect([await worker.stop(), await api.stop()]).toEqual([0, 0]);

    const spans = collector.spans().filter((span) => span.traceId === traceId);
    const nameOf = (spanId: string | null) => spans.find((span) => span.spanId === spanId)?.name ?? spanId;
    const request = "POST /v1/sessions/:id/commands";
    expect(
      new Set(spans.map(({ role, name, parentSpanId }) => [role, name, nameOf(parentSpanId)].join(" < "))),
    ).toEqual(
      new Set([
        `api < ${request} < b7ad6b7169203331`,
        `api < submit < ${request}`,
        "api < decide < submit",
        "api < admit < submit",
        "worker < queue wait < submit",
        "worker < execute < submit",
        "worker < recheck < execute",
        "worker < container acquire < execute",
        "worker < claim < execute",
        "worker < run < execute",
        "worker < persist < execute",
      ]),
    );
    expect(spans.every(({ startNs, endNs }) => startNs > 0n && startNs <= endNs)).toBe(true);
    const told = collector.received.map(({ body: text }) => text).join("");
    expect(told).toContain(body.command_id);
    for (const secret of ["very-secret", "for-the-collector", agent.key, agent.directory]) {
      expect(told).not.toContain(secret);
    }
    for (const log of [await api.log(), await worker.log()]) {
      expect(log).toContain(`"trace_id":"${traceId}"`);
      expect(log).not.toContain("for-the-collector");
    }
  } finally {
    await Promise.all([redis.stop(), collector.stop()]);
  }
});

test("no worker starts where a quota is required and the file system has none, and the reason is said", async () => {
  const started = installation.start("all", { workspaces: { quota: "required" } });
  await expect(started).rejects.toThrow(
    /workspaces\.quota is required: \S+ at \S+ is mounted without prjquota/,
  );
});
