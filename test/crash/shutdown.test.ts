import { test } from "vitest";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { ledgerLines, ledgerProgram, letGo } from "../support/crash/lane.js";
import { containersOf } from "../support/engine-containers.js";
import { readTestEnvironment } from "../support/environment.js";
import { createProxiedEngine } from "../support/proxied-engine.js";
import { startRedisServer } from "../support/redis-server.js";
import { until } from "../support/until.js";

const LIMIT_MS = 120_000;
/** Beyond the grace: for closing, on a machine that does other things too. */
const CLOSING_MS = 20_000;

/** A service of two workers in turn: the first is told to end while one command runs and one waits. */
async function inTurn(
  settings: Record<string, unknown>,
  work: (place: {
    readonly agent: Awaited<ReturnType<typeof openAgent>>;
    readonly first: Awaited<ReturnType<Awaited<ReturnType<typeof createInstallation>>["start"]>>;
    readonly containers: () => Promise<string[]>;
    read(id: string): Promise<Record<string, unknown>>;
    submit(name: string): Promise<string>;
    second(): Promise<unknown>;
  }) => Promise<void>,
): Promise<void> {
  const redis = await startRedisServer();
  const installation = await createInstallation({ redis: { url: redis.url } });
  try {
    const api = await installation.start("api");
    const first = await installation.start("worker", settings);
    const agent = await openAgent(installation, api);
    await work({
      agent,
      first,
      containers: () => containersOf(installation.deployment),
      read: async (id) => (await api.call(agent.key, "GET", `/v1/commands/${id}`)).body,
      submit: async (name) =>
        (await agent.submit(ledgerProgram(name), { timeout_s: 200 }, {})).body.command_id,
      second: () => installation.start("worker"),
    });
  } finally {
    await installation.remove();
    await redis.stop();
  }
}

test.concurrent("SIGTERM with a grace longer than what runs lets it finish, takes no more, and a second worker goes on (FB-50)", async ({
  expect,
}) => {
  await inTurn({ worker: { concurrency: 1, shutdown_grace_ms: 60_000 } }, async (place) => {
    const running = await place.submit("running");
    await until(async () => (await ledgerLines(place.agent.directory, "running")) === 1, LIMIT_MS);
    const waiting = await place.submit("waiting");
    const ended = place.first.stop();
    await letGo(place.agent.directory, "waiting");
    await until(async () => (await place.first.log()).includes("worker takes no more commands"), LIMIT_MS);
    await letGo(place.agent.directory, "running");
    expect(await ended).toBe(0);
    expect(await place.read(running)).toMatchObject({ outcome: "completed", returncode: 0 });
    expect(await place.read(waiting)).toMatchObject({ state: "queued" });
    expect(await place.containers()).toEqual([]);
    await place.second();
    await until(async () => (await place.read(waiting))["outcome"] === "completed", LIMIT_MS);
    expect(await ledgerLines(place.agent.directory, "waiting")).toBe(1);
  });
});

test.concurrent("SIGTERM with a grace shorter than what runs ends and records it in time (FB-50)", async ({
  expect,
}) => {
  await inTurn({ worker: { concurrency: 1, shutdown_grace_ms: 6_000 } }, async (place) => {
    const running = await place.submit("running");
    await until(async () => (await ledgerLines(place.agent.directory, "running")) === 1, LIMIT_MS);
    const waiting = await place.submit("waiting");
    await letGo(place.agent.directory, "waiting");
    const beganMs = performance.now();
    expect(await place.first.stop()).toBe(0);
    expect(performance.now() - beganMs).toBeLessThan(6_000 + CLOSING_MS);
    expect(await place.read(running)).toMatchObject({ outcome: "cancelled", effect: "unknown" });
    expect(await place.containers()).toEqual([]);
    await place.second();
    await until(async () => (await place.read(waiting))["outcome"] === "completed", LIMIT_MS);
  });
});

test.concurrent("SIGTERM while an engine never answers gives back what waits for a container, and exits in time (FB-22, FB-50)", async ({
  expect,
}) => {
  const proxy = await createProxiedEngine(readTestEnvironment().dockerSocket);
  try {
    await inTurn(
      {
        worker: { concurrency: 1, shutdown_grace_ms: 30_000 },
        docker: { host: `unix://${proxy.socketPath}` },
      },
      async (place) => {
        proxy.silence("create", "unsent");
        proxy.silence("remove", "unsent");
        proxy.silence("list", "unsent");
        const waiting = await place.submit("waiting");
        await letGo(place.agent.directory, "waiting");
        await until(async () => (await place.first.log()).includes("worker takes commands"), LIMIT_MS);
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        const beganMs = performance.now();
        expect(await place.first.stop()).toBe(0);
        // Without waiting for the engine's own deadlines.
        expect(performance.now() - beganMs).toBeLessThan(30_000);
        expect(await place.read(waiting)).toMatchObject({ state: "queued" });
        await place.second();
        await until(async () => (await place.read(waiting))["outcome"] === "completed", LIMIT_MS);
        expect(await ledgerLines(place.agent.directory, "waiting")).toBe(1);
      },
    );
  } finally {
    await proxy.close();
  }
});
