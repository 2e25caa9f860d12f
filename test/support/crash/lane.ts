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
import { readTestEnvironment } from "../environment.js";
import { type RedisServer, startRedisServer } from "../redis-server.js";
import { createScratchDirectory } from "../scratch-directory.js";
import { until } from "../until.js";
import type { Fault, Step, StruckMessage } from "./faults.js";
import type { Verdict } from "./verdicts.js";

const FAULTY_WORKER = fileURLToPath(new URL("./faulty-worker.mjs", import.meta.url));
const LIMIT_MS = 120_000;
const STARTS_AT_ONCE = 3;

/**
 * The defaults in less than half of their time, in about the same proportion to each other. An event loop that stays blocked
 * for 40 s against a lease of 15 s is here one that stays blocked until every verdict has been given.
 */
export const SHORT_TIMES = {
  lease_ms: 6_000,
  heartbeat_ms: 1_500,
  reconcile_ms: 1_000,
  sweep_ms: 1_000,
  queue_lock_ms: 4_000,
  shutdown_grace_ms: 5_000,
  // Eight deployments that make containers ahead would keep two cores too busy for the times above.
  warm: { max_containers: 0 },
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

/** One worker that will strike itself. */
interface FaultyWorker {
  readonly process: BailiffProcess;
  readonly workerId: string;
  readonly struck: Promise<StruckMessage>;
}

/**
 * One fault at every step at once: a deployment with a worker for each step, all of them struck, then one that is not.
 * Each step has a pool of its own, so that each faulty worker gets the one command that is meant for it.
 */
export async function runLane(fault: Fault, steps: readonly Step[]): Promise<Verdict[]> {
  const redis = await startRedisServer();
  const scratch = await createScratchDirectory();
  const installation = await createInstallation(await laneSettings(redis, scratch.path, steps.length));
  try {
    return await strikeAll({ fault, steps, redis, installation });
  } finally {
    await installation.remove();
    await redis.stop();
    await scratch.remove();
  }
}

const poolOf = (index: number): string => `step${index}`;

async function laneSettings(
  redis: RedisServer,
  directory: string,
  steps: number,
): Promise<Record<string, unknown>> {
  const { sandboxImageId } = readTestEnvironment();
  const pools = Array.from({ length: steps }, (_, index) => poolOf(index));
  const profiles = Object.fromEntries(
    pools.map((pool) => [pool, { image: `sandbox@${sandboxImageId}`, pool }]),
  );
  const policyPath = join(directory, "pools.json");
  await writeFile(policyPath, JSON.stringify({ version: 1, profiles }));
  return {
    redis: { url: redis.url },
    worker: { ...SHORT_TIMES, pools },
    images: Object.fromEntries(pools.map((pool) => [pool, sandboxImageId])),
    policy: { files: [policyPath] },
  };
}

async function strikeAll(lane: {
  readonly fault: Fault;
  readonly steps: readonly Step[];
  readonly redis: RedisServer;
  readonly installation: Installation;
}): Promise<Verdict[]> {
  const { fault, steps, redis, installation } = lane;
  const releasePath = join(installation.directory, "release");
  const api = await installation.start("api");
  const agents: Agent[] = [];
  // One after the other: the file of keys is changed by one at a time.
  for (const index of steps.keys()) {
    agents.push(await openAgent(installation, api, { workspace: poolOf(index), profile: poolOf(index) }));
  }
  const workers = await atWidth(steps.length, STARTS_AT_ONCE, (index) => {
    const step = steps[index] ?? "taken";
    return startFaulty(installation, { fault, step, pool: poolOf(index), releasePath });
  });
  const rows = steps.flatMap((step, index) => {
    const [worker, agent] = [workers[index], agents[index]];
    return worker === undefined || agent === undefined ? [] : [{ worker, agent, fault, step }];
  });
  type Row = (typeof rows)[number];

  const read = async ({ agent }: Row, id: string) =>
    (await api.call(agent.key, "GET", `/v1/commands/${id}`)).body;
  const submit = async ({ agent }: Row, name: string) => {
    const { status, body } = await agent.submit(ledgerProgram(name), { timeout_s: 200 }, {});
    expect(status).toBe(202);
    return body.command_id as string;
  };
  const completes = async (row: Row, id: string) => {
    await until(async () => (await read(row, id)).state === "finished", LIMIT_MS);
    expect(await read(row, id)).toMatchObject({ outcome: "completed", effect: "completed" });
  };

  const targets = await Promise.all(rows.map((row) => submit(row, "target")));
  const struck = await Promise.all(rows.map(({ worker }) => worker.struck));
  expect(struck.map(({ commandId }) => commandId)).toEqual(targets);

  // Nobody is there to run these now.
  const queued = await Promise.all(rows.map((row) => submit(row, "queued")));
  for (const { agent, step } of rows) {
    await letGo(agent.directory, "queued");
    if (step !== "argv sent") await letGo(agent.directory, "target");
  }
  const healthy = await installation.start("worker");
  const judge = (row: Row, index: number) =>
    verdictOf(
      api,
      row.agent,
      { id: targets[index] ?? "", name: "target" },
      { fault: row.fault, step: row.step },
    );
  await Promise.all(
    rows.map(async (row, index) => {
      await until(async () => (await read(row, targets[index] ?? "")).state === "finished", LIMIT_MS);
      await completes(row, queued[index] ?? "");
    }),
  );
  const verdicts = await Promise.all(rows.map(judge));

  // What comes back must change no verdict, and take commands again.
  await writeFile(releasePath, "");
  for (const { worker } of rows) {
    if (fault === "stopped") worker.process.child.kill("SIGCONT");
  }
  if (fault !== "killed") await healthy.stop();
  await Promise.all(
    rows.map(async (row) => {
      await letGo(row.agent.directory, "next");
      const next = await submit(row, "next");
      await completes(row, next);
      if (fault === "killed") return;
      expect(await workerOf(redis, installation.deployment, next)).toBe(row.worker.workerId);
    }),
  );
  await until(async () => (await containersOf(installation.deployment)).length === 0, LIMIT_MS);
  expect(await Promise.all(rows.map(judge))).toEqual(verdicts);
  return verdicts;
}

async function startFaulty(
  installation: Installation,
  row: { readonly fault: Fault; readonly step: Step; readonly pool: string; readonly releasePath: string },
): Promise<FaultyWorker> {
  const started = await installation.start(
    "worker",
    { worker: { ...SHORT_TIMES, concurrency: 1, pools: [row.pool] } },
    (configPath) => [FAULTY_WORKER, configPath, row.step, row.fault, row.releasePath],
  );
  const struck = new Promise<StruckMessage>((resolve) => {
    started.child.on("message", (message) => resolve(message as StruckMessage));
  });
  const workerId = /"worker_id":"(wrk_[^"]+)"/.exec(await started.log())?.[1] ?? "";
  return { process: started, workerId, struck };
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
