import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { bailiffContender } from "./measure/bailiff-contender.js";
import { bareContainer } from "./measure/bare-container.js";
import type { Benchmark, BenchmarkContext } from "./measure/benchmark.js";
import { createHandEngine, type HandEngine } from "./measure/hand-engine.js";
import { quantiles } from "./measure/quantiles.js";
import { createRows } from "./measure/row.js";
import { isThere, runToEnd } from "./measure/run-to-end.js";
import { type Contender, takeTurns, timed } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

const DOCKER_RUN = "docker run --rm --network none IMAGE true";
const BY_HAND = "Engine API by hand: create, attach, start, wait, remove";
const DOCKER_EXEC = "docker exec in a live container";
const RUNC_RUN = "runc run of an unpacked image";
const SPAWN = "spawn of true, no container";
const COLD = "Bailiff: HTTP request to final result, cold";
const WARM = "Bailiff: HTTP request to final result, warm";

const COLD_GOAL = 0.7;
const WARM_GOAL = 1 / 20;
const WARM_GOAL_MS = 15;

/** One command at a time, each way of running `true` beside the others. */
export const single: Benchmark = {
  name: "single",
  title: "one `true` at a time; the ways take turns in each round",
  async run(context) {
    const { environment, runId } = context;
    const engine = createHandEngine(environment.dockerSocket);
    context.defer(() => engine.close());
    const rows = createRows("single");
    const notes: string[] = [];
    const docker = ["--host", `unix://${environment.dockerSocket}`];
    const contenders: Record<string, Contender> = {};

    if (await isThere("docker")) {
      const args = [...docker, "run", "--rm", "--network", "none", "--label", `bailiff.bench=${runId}`];
      contenders[DOCKER_RUN] = () =>
        timed(() => runToEnd("docker", [...args, environment.sandboxImageId, "true"]));
    } else notes.push(`SKIPPED ${DOCKER_RUN}: there is no docker client here; ratios are against the API.`);

    contenders[BY_HAND] = () => timed(() => runByHand(engine, bareContainer(environment, runId)));

    if (contenders[DOCKER_RUN] !== undefined) {
      const live = await engine.create({ ...bareContainer(environment, runId), Cmd: ["sleep", "3600"] });
      await engine.start(live);
      context.defer(() => engine.remove(live));
      contenders[DOCKER_EXEC] = () => timed(() => runToEnd("docker", [...docker, "exec", live, "true"]));
    }

    const runc = await runcContender(context, engine);
    if (typeof runc === "string") notes.push(`SKIPPED ${RUNC_RUN}: ${runc}`);
    else contenders[RUNC_RUN] = runc;

    contenders[SPAWN] = () => timed(() => runToEnd("true", []));

    context.say("starting Bailiff, twice");
    const bailiff = async (warm: Readonly<Record<string, number>>) =>
      bailiffContender(context, await createService(context), { worker: { warm } });
    contenders[COLD] = await bailiff({ max_containers: 0 });
    contenders[WARM] = await bailiff({});

    context.say("taking turns");
    const samples = await takeTurns(
      contenders,
      context.size === "quick" ? { rounds: 10, limitMs: 40_000 } : { rounds: 60, limitMs: 150_000 },
    );
    const [baseline = "", ...others] = samples.keys();
    rows.samples(baseline, "ms", samples.get(baseline) ?? []);
    for (const label of others) rows.samples(label, "ms", samples.get(label) ?? [], baseline);

    const goals = [];
    const run = samples.get(DOCKER_RUN);
    const warmMs = quantiles(samples.get(WARM) ?? []).p50;
    goals.push({
      text: `warm p50 is below ${WARM_GOAL_MS} ms (here ${warmMs.toFixed(1)} ms)`,
      met: warmMs < WARM_GOAL_MS,
    });
    if (run !== undefined) {
      const runMs = quantiles(run).p50;
      const cold = quantiles(samples.get(COLD) ?? []).p50 / runMs;
      goals.push(
        {
          text: `warm p50 is at most 1/${1 / WARM_GOAL} of docker run (here 1/${(runMs / warmMs).toFixed(0)})`,
          met: warmMs / runMs <= WARM_GOAL,
        },
        {
          text: `cold p50 is at most ${COLD_GOAL} of docker run (here ${cold.toFixed(2)})`,
          met: cold <= COLD_GOAL,
        },
      );
    }
    return { rows: rows.rows, goals, notes };
  },
};

async function runByHand(engine: HandEngine, spec: Record<string, unknown>): Promise<void> {
  const id = await engine.create(spec);
  const output = await engine.attach(id);
  output.resume();
  const ended = engine.wait(id);
  await engine.start(id);
  const code = await ended;
  await engine.remove(id);
  output.destroy();
  if (code !== 0) throw new Error(`the bare container ended with ${code}`);
}

/** A bundle of the image's files, made once; or why it can't be run here. */
async function runcContender(context: BenchmarkContext, engine: HandEngine): Promise<Contender | string> {
  const { environment, runId } = context;
  if (!(await isThere("runc"))) return "there is no runc here.";
  if (process.getuid?.() !== 0) return "only root runs it by hand.";
  const bundle = await mkdtemp(join(tmpdir(), "bailiff-bench-runc-"));
  context.defer(() => rm(bundle, { recursive: true, force: true }));
  const rootfs = join(bundle, "rootfs");
  context.say("unpacking the image for runc");
  const source = await engine.create(bareContainer(environment, runId));
  try {
    await runToEnd("mkdir", [rootfs]);
    const tar = spawn("tar", ["-x", "-C", rootfs], { stdio: ["pipe", "ignore", "ignore"] });
    const unpacked = once(tar, "close");
    await pipeline(await engine.exportFiles(source), tar.stdin);
    const [code] = await unpacked;
    if (code !== 0) return "the image could not be unpacked.";
  } finally {
    await engine.remove(source);
  }
  await runToEnd("runc", ["spec"], { cwd: bundle });
  const path = join(bundle, "config.json");
  const spec = JSON.parse(await readFile(path, "utf8"));
  spec.process.terminal = false;
  spec.process.args = ["true"];
  await writeFile(path, JSON.stringify(spec));
  let count = 0;
  const contender = () => {
    count += 1;
    return timed(() => runToEnd("runc", ["run", `bailiff-bench-${runId}-${count}`], { cwd: bundle }));
  };
  try {
    await contender();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return contender;
}
