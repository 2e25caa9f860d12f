import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startSecondEngine } from "../test/support/second-engine.js";
import { bailiffContender } from "./measure/bailiff-contender.js";
import { bareContainer } from "./measure/bare-container.js";
import type { Benchmark, BenchmarkContext } from "./measure/benchmark.js";
import { createHandEngine } from "./measure/hand-engine.js";
import { createRows } from "./measure/row.js";
import { isThere } from "./measure/run-to-end.js";
import { type Contender, takeTurns } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

interface OciRuntime {
  readonly path: string;
  readonly runtimeArgs: readonly string[];
  /** Enforces no limit as it is called here, which the profile has to accept. */
  readonly isWithoutLimits: boolean;
}

/** The first is the baseline: every engine has it. */
const RUNTIMES: Readonly<Record<string, OciRuntime>> = {
  runc: { path: "runc", runtimeArgs: [], isWithoutLimits: false },
  crun: { path: "/usr/bin/crun", runtimeArgs: [], isWithoutLimits: false },
  runsc: {
    path: "/usr/bin/runsc",
    runtimeArgs: ["--platform=ptrace", "--network=none", "--ignore-cgroups"],
    isWithoutLimits: true,
  },
};

/** The same command by each OCI runtime, through Bailiff, on an engine that knows them all. */
export const runtimes: Benchmark = {
  name: "runtimes",
  title: "one `true` at a time by each OCI runtime, HTTP request to final result; they take turns",
  async run(context) {
    const notes: string[] = [];
    const known: Record<string, { path: string; runtimeArgs: readonly string[] }> = {};
    for (const [name, { path, runtimeArgs }] of Object.entries(RUNTIMES)) {
      if (name === "runc") continue;
      if (await isThere(path)) known[name] = { path, runtimeArgs };
      else notes.push(`SKIPPED ${name}: there is no ${path} here.`);
    }
    context.say("starting an engine of its own");
    const engine = await startSecondEngine({ liveRestore: false, runtimes: known });
    context.defer(() => engine.stop());

    const contenders: Record<string, Contender> = {};
    for (const name of ["runc", ...Object.keys(known)]) {
      context.say(`starting Bailiff with ${name}, twice`);
      try {
        const cold = await contender(context, engine.socketPath, name, { max_containers: 0 });
        const warm = await contender(context, engine.socketPath, name, {});
        contenders[`${name}, cold`] = cold;
        contenders[`${name}, warm`] = warm;
      } catch (error) {
        if (name === "runc") throw error;
        const refusal = await refusalOf(context, engine.socketPath, name);
        notes.push(`SKIPPED ${name}: ${refusal ?? reasonOf(error)}`);
      }
    }

    context.say("taking turns");
    const samples = await takeTurns(
      contenders,
      context.size === "quick" ? { rounds: 8, limitMs: 60_000 } : { rounds: 40, limitMs: 240_000 },
    );
    const rows = createRows("runtimes");
    for (const [label, values] of samples) {
      const baseline = label.replace(/^\w+/, "runc");
      rows.samples(label, "ms", values, ...(label === baseline ? [] : [baseline]));
    }
    if (samples.has("runsc, cold"))
      notes.push("runsc ran with --platform=ptrace and --ignore-cgroups: without the profile's limits.");
    return { rows: rows.rows, goals: [], notes };
  },
};

/** Bailiff on that engine with one profile, and one command after the other. */
async function contender(
  context: BenchmarkContext,
  socketPath: string,
  runtime: string,
  warm: Readonly<Record<string, number>>,
): Promise<Contender> {
  const service = await createService(context, { docker: { host: `unix://${socketPath}` } }, socketPath);
  const policyPath = join(service.installation.directory, "policy.yaml");
  await writeFile(policyPath, policyOf(runtime));
  const run = await bailiffContender(context, service, {
    worker: { warm },
    policy: { files: [policyPath] },
  });
  await run();
  return run;
}

/** The configuration has the image; a policy has to name one as well. */
function policyOf(runtime: string): string {
  const lines = [`image: sandbox@sha256:${"0".repeat(64)}`];
  if (runtime !== "runc") lines.push(`runtime: ${runtime}`);
  if (RUNTIMES[runtime]?.isWithoutLimits) lines.push("accept_unenforced_limits: true");
  return ["version: 1", "profiles:", "  default:", ...lines.map((line) => `    ${line}`), ""].join("\n");
}

/** The runtime's own words where no container starts with it, which Bailiff does not repeat; null where one does. */
async function refusalOf(
  { environment, runId }: BenchmarkContext,
  socketPath: string,
  name: string,
): Promise<string | null> {
  const engine = createHandEngine(socketPath);
  const bare = bareContainer(environment, runId);
  try {
    const id = await engine.create({ ...bare, HostConfig: { NetworkMode: "none", Runtime: name } });
    await engine.start(id).finally(() => engine.remove(id));
    return null;
  } catch (error) {
    return reasonOf(error);
  } finally {
    engine.close();
  }
}

/** What a person can use of a process that did not start: the sentence about the runtime, not the whole log. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return (lines.findLast((line) => /runtime|cgroup/.test(line)) ?? lines.at(-1) ?? text).slice(0, 500);
}
