import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Agent,
  type BailiffProcess,
  createInstallation,
  type Installation,
  openAgent,
} from "../support/bailiff.js";
import { containersOf } from "../support/engine-containers.js";
import { type MeteredWorker, startMeteredWorker } from "../support/metered-worker.js";
import { type RedisServer, startRedisServer } from "../support/redis-server.js";
import { until } from "../support/until.js";

const WARM = 'bailiff_warm_leases_total{result="warm"}';
const WAITING = 'bailiff_warm_containers{state="waiting"}';
const TAKEN = 'bailiff_warm_offers_total{result="taken"}';
const COMMANDS = 12;
const LIMIT_MS = 90_000;

let redis: RedisServer;
let installation: Installation;
let api: BailiffProcess;
let agent: Agent;
const workers: MeteredWorker[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  // A busy machine's answers take longer than the default waits for.
  const worker = { warm: { offer_ms: 1_000 }, lease_ms: 120_000 };
  installation = await createInstallation({ redis: { url: redis.url }, worker });
  api = await installation.start("api");
  for (let i = 0; i < 3; i += 1) workers.push(await startMeteredWorker(installation));
  agent = await openAgent(installation, api);
});
afterAll(async () => {
  await installation.remove();
  await redis.stop();
});

const sum = async (series: string, of: readonly MeteredWorker[] = workers) =>
  (await Promise.all(of.map((worker) => worker.metric(series)))).reduce((all, each) => all + each, 0);

const submit = (name: string) => agent.submit(["sh", "-c", 'echo "$1" >> ledger', "sh", name]);

const ledger = async () => (await readFile(join(agent.directory, "ledger"), "utf8")).trim().split("\n");

test("three workers: the commands of a workspace go to the container that waits, wherever it does, and run once", async () => {
  const names = Array.from({ length: COMMANDS }, (_, n) => `one-${n}`);
  for (const name of names) {
    expect((await submit(name)).body).toMatchObject({ outcome: "completed" });
    await until(async () => (await sum(WAITING)) > 0, LIMIT_MS);
  }
  expect(await ledger()).toEqual(names);
  // All but the first could have one; a slow machine may now and then not hear of it in time.
  expect(await sum(WARM)).toBeGreaterThanOrEqual(COMMANDS - 4);
});

test("with their home stopped, commands run once elsewhere; what it is offered meanwhile it does not run when it goes on", async () => {
  const waiting = await Promise.all(workers.map((worker) => worker.metric(WAITING)));
  const home = workers[waiting.indexOf(Math.max(...waiting))];
  if (home === undefined) throw new Error("nobody has a container waiting");
  const others = workers.filter((worker) => worker !== home);
  const before = await ledger();
  home.child.kill("SIGSTOP");
  const names = ["two-0", "two-1", "two-2"];
  try {
    for (const name of names) expect((await submit(name)).body).toMatchObject({ outcome: "completed" });
    await until(async () => (await sum(WAITING, others)) > 0, LIMIT_MS);
  } finally {
    home.child.kill("SIGCONT");
  }
  expect((await submit("three")).body).toMatchObject({ outcome: "completed" });
  expect(await ledger()).toEqual([...before, ...names, "three"]);
});

test("some of them were offered and taken, and an end of all workers leaves no container", async () => {
  expect(await sum(TAKEN)).toBeGreaterThan(0);
  expect(await Promise.all(workers.map((worker) => worker.stop()))).toEqual([0, 0, 0]);
  expect(await containersOf(installation.deployment)).toEqual([]);
});
