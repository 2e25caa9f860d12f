import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { expect } from "vitest";
import {
  type Agent,
  type BailiffProcess,
  createInstallation,
  type Installation,
  openAgent,
} from "../bailiff.js";
import { atWidth } from "../docker-bench.js";
import { containersOf } from "../engine-containers.js";
import { type RedisServer, startRedisServer } from "../redis-server.js";
import { createTcpProxy, type TcpProxy } from "../tcp-proxy.js";
import { until } from "../until.js";
import type { Fault, Step, StruckMessage } from "./faults.js";
import type { Verdict } from "./verdicts.js";

const FAULTY_WORKER = fileURLToPath(new URL("./faulty-worker.mjs", import.meta.url));
const LIMIT_MS = 120_000;
const STARTS_AT_ONCE = 3;

/**
 * The defaults in about a quarter of their time, in the same proportion to each other. An event loop that stays blocked
 * for 40 s against a lease of 15 s is here one that stays blocked until every verdict has been given.
 */
export const SHORT_TIMES = {
  lease_ms: 4_000,
  heartbeat_ms: 1_000,
  reconcile_ms: 500,
  sweep_ms: 1_000,
  queue_lock_ms: 4_000,
  shutdown_grace_ms: 5_000,
};

/** Appends to its ledger, waits to be let go, and says that it came to its own end. */
export function ledgerProgram(name: string): string[] {
  const script =
    'echo ran >> "ledger-$1"; while [ ! -e "go-$1" ]; do sleep 0.1; done; echo ended > "ended-$1"';
  return ["sh", "-c", script, "sh", name];
}

/** How many lines a program's ledger has. */
export async function ledgerLines(directory: string, name: string): Promise<number> {
  const text = await readFile(join(directory, `ledger-${name}`), "utf8").catch(() => "");
  return text.split("\n").length - 1;
}

/** Lets a program of `ledgerProgram` come to its end. */
export async function letGo(directory: string, name: string): Promise<void> {
  await writeFile(join(directory, `go-${name}`), "");
}

/** What is left of a command once everything has settled, in the words of the matrix. */
export async function verdictOf(
  api: BailiffProcess,
  agent: Agent,
  command: { readonly id: string; readonly name: string },
  row: { readonly fault: string; readonly step: string },
): Promise<Verdict> {
  const { body } = await api.call(agent.key, "GET", `/v1/commands/${command.id}`);
  return {
    ...row,
    ledger: await ledgerLines(agent.directory, command.name),
    ended: existsSync(join(agent.directory, `ended-${command.name}`)),
    outcome: body.outcome ?? body.state,
    effect: body.effect ?? "-",
  };
}

/** One worker that will strike itself, and how to end what struck it. */
interface FaultyWorker {
  readonly step: Step;
  readonly process: BailiffProcess;
  readonly proxy: TcpProxy | null;
  readonly workerId: string;
  readonly struck: Promise<StruckMessage>;
}

/** One fault at every step at once: a deployment with a worker for each step, all of them struck, then one that is not. */
export async function runLane(fault: Fault, steps: readonly Step[]): Promise<Verdict[]> {
  const redis = await startRedisServer();
  const installation = await createInstallation({ redis: { url: redis.url }, worker: SHORT_TIMES });
  const opened: { close(): Promise<unknown> }[] = [];
  try {
    return await strikeAll({ fault, steps, redis, installation, opened });
  } finally {
    await installation.remove();
    for (const each of opened) await each.close();
    await redis.stop();
  }
}

async function strikeAll(lane: {
  readonly fault: Fault;
  readonly steps: readonly Step[];
  readonly redis: RedisServer;
  readonly installation: Installation;
  readonly opened: { close(): Promise<unknown> }[];
}): Promise<Verdict[]> {
  const { fault, steps, redis, installation, opened } = lane;
  const releasePath = join(installation.directory, "release");
  const api = await installation.start("api");
  const agent = await openAgent(installation, api);
  const workers = await atWidth(steps.length, STARTS_AT_ONCE, (index) =>
    startFaulty(installation, redis, { fault, step: steps[index] ?? "taken", releasePath, opened }),
  );

  const submit = async (name: string) => {
    const { status, body } = await agent.submit(ledgerProgram(name), { timeout_s: 200 }, {});
    expect(status).toBe(202);
    return { id: body.command_id as string, name };
  };
  const targets = await Promise.all(steps.map((_, index) => submit(`target${index}`)));
  const struck = await Promise.all(workers.map(({ struck }) => struck));
  const rows = workers.map((worker, index) => {
    const target = targets.find(({ id }) => id === struck[index]?.commandId);
    if (target === undefined) throw new Error(`no target was struck at ${worker.step}`);
    return { worker, target };
  });
  // Each worker holds one command, or there would be no such row.
  expect(new Set(rows.map(({ target }) => target.id)).size).toBe(steps.length);

  // Nobody is there to run it now.
  const onlyQueued = await submit("queued");
  await letGo(agent.directory, "queued");
  for (const { worker, target } of rows) {
    if (worker.step !== "argv sent") await letGo(agent.directory, target.name);
  }
  const healthy = await installation.start("worker");
  for (const { id } of [onlyQueued, ...targets]) {
    await until(async () => (await read(id)).state === "finished", LIMIT_MS);
  }
  expect(await read(onlyQueued.id)).toMatchObject({ outcome: "completed", effect: "completed" });
  const verdicts = await Promise.all(
    rows.map(({ worker, target }) => verdictOf(api, agent, target, { fault, step: worker.step })),
  );

  // What comes back must change no verdict, and take commands again.
  await writeFile(releasePath, "");
  for (const { worker } of rows) {
    worker.proxy?.heal();
    if (fault === "stopped") worker.process.child.kill("SIGCONT");
  }
  const resumed = fault === "killed" ? [] : rows.map(({ worker }) => worker);
  if (resumed.length > 0) await healthy.stop();
  const next = await Promise.all(
    (resumed.length > 0 ? resumed : [healthy]).map((_, i) => submit(`next${i}`)),
  );
  // None of them ends before all of them run: so each worker has the room for one.
  await until(async () => {
    const states = await Promise.all(next.map(async ({ id }) => (await read(id)).state));
    return states.every((state) => state === "dispatched");
  }, LIMIT_MS);
  if (resumed.length > 0) {
    const holders = await Promise.all(next.map(({ id }) => workerOf(redis, installation.deployment, id)));
    expect(new Set(holders)).toEqual(new Set(resumed.map(({ workerId }) => workerId)));
  }
  for (const { id, name } of next) {
    await letGo(agent.directory, name);
    await until(async () => (await read(id)).outcome === "completed", LIMIT_MS);
  }
  await until(async () => (await containersOf(installation.deployment)).length === 0, LIMIT_MS);
  const after = await Promise.all(
    rows.map(({ worker, target }) => verdictOf(api, agent, target, { fault, step: worker.step })),
  );
  expect(after).toEqual(verdicts);
  return verdicts;

  async function read(commandId: string) {
    return (await api.call(agent.key, "GET", `/v1/commands/${commandId}`)).body;
  }
}

async function startFaulty(
  installation: Installation,
  redis: RedisServer,
  row: {
    readonly fault: Fault;
    readonly step: Step;
    readonly releasePath: string;
    readonly opened: { close(): Promise<unknown> }[];
  },
): Promise<FaultyWorker> {
  const proxy = row.fault === "partitioned" ? await createTcpProxy(redis.port) : null;
  if (proxy !== null) row.opened.push(proxy);
  const started = await installation.start(
    "worker",
    {
      worker: { ...SHORT_TIMES, concurrency: 1 },
      redis: { url: proxy === null ? redis.url : `redis://127.0.0.1:${proxy.port}` },
    },
    (configPath) => ["--import", "tsx", FAULTY_WORKER, configPath, row.step, row.fault, row.releasePath],
  );
  const struck = new Promise<StruckMessage>((resolve) => {
    started.child.on("message", (message) => {
      if (row.step === "claim unanswered") proxy?.cutAnswers();
      else proxy?.cut();
      if (proxy !== null) started.child.send("cut");
      resolve(message as StruckMessage);
    });
  });
  const workerId = /"worker_id":"(wrk_[^"]+)"/.exec(await started.log())?.[1] ?? "";
  return { step: row.step, process: started, proxy, workerId, struck };
}

/** Who holds a command; the API does not say. */
async function workerOf(redis: RedisServer, deployment: string, commandId: string): Promise<string | null> {
  const client = new Redis(redis.url);
  try {
    return await client.hget(`{bailiff:${deployment}}:cmd:${commandId}`, "workerId");
  } finally {
    client.disconnect();
  }
}
