import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readTestEnvironment } from "../test/support/environment.js";
import { fairness } from "./fairness.js";
import { flood } from "./flood.js";
import { benchLabel } from "./measure/bare-container.js";
import type { Benchmark, BenchmarkContext, Size } from "./measure/benchmark.js";
import { createHandEngine } from "./measure/hand-engine.js";
import { describeMachine } from "./measure/machine.js";
import type { Goal, Row } from "./measure/row.js";
import { renderTable } from "./measure/table.js";
import { pieces } from "./pieces.js";
import { policy } from "./policy.js";
import { profile } from "./profile.js";
import { queue } from "./queue.js";
import { routing } from "./routing.js";
import { runtimes } from "./runtimes.js";
import { scaling } from "./scaling.js";
import { single } from "./single.js";
import { soak } from "./soak.js";
import { throughput } from "./throughput.js";

const BENCHMARKS: readonly Benchmark[] = [
  single,
  pieces,
  throughput,
  flood,
  fairness,
  policy,
  queue,
  scaling,
  routing,
  runtimes,
];
/** Only by name: one writes into the documentation, the other is too long for a run that nobody asked for. */
const BY_NAME: readonly Benchmark[] = [profile, soak];

const MOST_MINUTES = 24 * 60;

type Undo = () => Promise<unknown> | unknown;

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    quick: { type: "boolean", default: false },
    full: { type: "boolean", default: false },
    minutes: { type: "string" },
  },
});
process.exitCode = await bench(
  values.only,
  values.quick ? "quick" : values.full ? "full" : "normal",
  values.minutes,
);

async function bench(only: readonly string[], size: Size, atMost: string | undefined): Promise<number> {
  const minutes = atMost === undefined ? null : Number(atMost);
  if (minutes !== null && !(minutes > 0 && minutes <= MOST_MINUTES)) {
    process.stderr.write(`--minutes takes a number above 0 and up to ${MOST_MINUTES}.\n`);
    return 2;
  }
  const wanted = only.flatMap((names) => names.split(","));
  const all = [...BENCHMARKS, ...BY_NAME];
  const unknown = wanted.filter((name) => !all.some((benchmark) => benchmark.name === name));
  if (unknown.length > 0) {
    const names = all.map((benchmark) => benchmark.name).join(", ");
    process.stderr.write(`There is no benchmark ${unknown.join(", ")}. There are: ${names}.\n`);
    return 2;
  }
  const chosen = wanted.length === 0 ? BENCHMARKS : all.filter(({ name }) => wanted.includes(name));
  const environment = readTestEnvironment();
  const runId = randomBytes(6).toString("hex");
  const engine = createHandEngine(environment.dockerSocket);
  const undone: Undo[] = [];
  const undoAll = async () => {
    for (let undo = undone.pop(); undo !== undefined; undo = undone.pop()) {
      await Promise.resolve()
        .then(undo)
        .catch((error: unknown) => process.stderr.write(`  while cleaning up: ${String(error)}\n`));
    }
  };
  const removeOwn = async () => {
    const left = await engine.list(benchLabel(runId));
    for (const id of left) await engine.remove(id);
    return left.length;
  };
  const interrupt = (signal: NodeJS.Signals) => {
    process.stderr.write(`\n${signal}: cleaning up\n`);
    void undoAll()
      .then(removeOwn)
      .finally(() => process.exit(130));
  };
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);

  const machine = await describeMachine(engine);
  const startedAt = new Date().toISOString();
  const rows: Row[] = [];
  const goals: Goal[] = [];
  const notes: string[] = [];
  let failed = false;
  for (const benchmark of chosen) {
    const say = (text: string) => process.stderr.write(`  ${benchmark.name}: ${text}\n`);
    const context: BenchmarkContext = {
      size,
      minutes,
      environment,
      runId,
      say,
      defer: (undo) => undone.push(undo),
    };
    const beganMs = performance.now();
    process.stderr.write(`▸ ${benchmark.name}: ${benchmark.title}\n`);
    try {
      const result = await benchmark.run(context);
      rows.push(...result.rows);
      goals.push(...result.goals);
      notes.push(...result.notes);
      process.stderr.write(`✓ ${benchmark.name} (${Math.round((performance.now() - beganMs) / 1000)} s)\n`);
    } catch (error) {
      failed = true;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      notes.push(`FAILED ${benchmark.name}: ${text.split("\n", 1)[0]}`);
      process.stderr.write(`✗ ${benchmark.name}: ${text}\n`);
    } finally {
      await undoAll();
    }
  }
  const left = await removeOwn();
  engine.close();
  if (left > 0) notes.push(`${left} containers of this run had to be removed at its end.`);

  const loadAfter = loadavg()[0] ?? 0;
  const result = { startedAt, size, machine, loadAfter, rows, goals, notes };
  const directory = fileURLToPath(new URL("results/", import.meta.url));
  await mkdir(directory, { recursive: true });
  const path = join(directory, `${startedAt.replace(/[:.]/g, "-")}.json`);
  await writeFile(path, `${JSON.stringify(result, null, 2)}\n`);

  const { cores, cpu, memoryMib, kernel, engine: engineVersion, node, loadAverage } = machine;
  process.stdout.write(
    [
      "",
      `${cores} cores (${cpu}), ${memoryMib} MiB, Linux ${kernel}, engine ${engineVersion}, node ${node}; load average ${loadAverage[0]} at the begin, ${loadAfter.toFixed(2)} at the end`,
      "",
      renderTable(rows, new Map(chosen.map(({ name, title }) => [name, title]))),
      "",
      ...goals.map(({ text, met }) => `${met ? "met   " : "MISSED"}  ${text}`),
      ...notes,
      "",
      `Written to ${path}`,
      "",
    ].join("\n"),
  );
  return failed ? 1 : 0;
}
