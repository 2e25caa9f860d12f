import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CLI, openAgent } from "../test/support/bailiff.js";
import { createApiClient } from "./measure/api-client.js";
import type { Benchmark } from "./measure/benchmark.js";
import { type CpuProfile, callTree, flameGraph } from "./measure/flame-graph.js";
import { createRows } from "./measure/row.js";
import { timed } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

const GRAPH = fileURLToPath(new URL("../docs/images/warm-command-flame.svg", import.meta.url));
const MODULES_SHOWN = 14;
const WARM_UP = 20;
const PAUSE_MS = 1_000;

/** Where `bailiff all` spends its own processor time while warm commands run one after the other. */
export const profile: Benchmark = {
  name: "profile",
  title: "processor time of `bailiff all` per warm `true`, by module; the flame graph goes to docs/images",
  async run(context) {
    const service = await createService(context);
    const directory = await mkdtemp(join(tmpdir(), "bailiff-profile-"));
    context.defer(() => rm(directory, { recursive: true, force: true }));
    const bailiff = await service.installation.start("all", {}, (configPath) => [
      "--cpu-prof",
      "--cpu-prof-interval",
      "250",
      `--cpu-prof-dir=${directory}`,
      CLI,
      "all",
      "--config",
      configPath,
    ]);
    context.defer(() => bailiff.kill());
    const agent = await openAgent(service.installation, bailiff);
    const client = createApiClient(bailiff.url);
    context.defer(() => client.close());
    const [rounds, limitMs] = context.size === "quick" ? [40, 60_000] : [200, 300_000];
    const untilMs = performance.now() + limitMs;
    const latencies: number[] = [];
    let fromUs = 0;
    for (let round = -WARM_UP; round < rounds && performance.now() < untilMs; round += 1) {
      if (round === 0) fromUs = monotonicUs();
      const elapsedMs = await timed(() => client.run(agent, ["true"]));
      if (round >= 0) latencies.push(elapsedMs);
      // Long enough for the next container to be made; asking whether it is would be in the profile.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    const toUs = monotonicUs();
    await bailiff.stop();
    const [name] = (await readdir(directory)).filter((each) => each.endsWith(".cpuprofile"));
    if (name === undefined) throw new Error("Node.js wrote no profile");
    const cpu = JSON.parse(await readFile(join(directory, name), "utf8")) as CpuProfile;
    const tree = callTree(cpu, fromUs, toUs);
    await writeFile(
      GRAPH,
      flameGraph(tree, `bailiff all, ${latencies.length} warm commands`, latencies.length),
    );
    const rows = createRows("profile");
    rows.samples("HTTP request to final result, warm, under the profiler", "ms", latencies);
    const whole = "processor time per command, upkeep included";
    rows.value(whole, "ms", tree.busyMs / latencies.length);
    for (const [module, ms] of tree.byModule.slice(0, MODULES_SHOWN))
      rows.value(`  of it ${module}`, "ms", ms / latencies.length, whole);
    return { rows: rows.rows, goals: [], notes: [] };
  },
};

/** The clock of the profile's samples. */
function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
