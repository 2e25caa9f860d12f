import { startApi } from "../src/main/api.js";
import { startWorker } from "../src/main/worker.js";
import { createApiClient } from "./measure/api-client.js";
import type { Benchmark, BenchmarkContext } from "./measure/benchmark.js";
import { createControlPlane, openSubmitter } from "./measure/control-plane.js";
import { createRows, type Goal, type RowMaker } from "./measure/row.js";
import { timed } from "./measure/sampling.js";
import { createTracer } from "./measure/trace.js";

const OWN = "of it the broker's own share";
const OWN_GOAL_MS = 5;
const WAYS = ["cold", "warm"] as const;

/** Where the time of one command goes. API and worker are composed in this process, so that one clock sees all steps. */
export const pieces: Benchmark = {
  name: "pieces",
  title: "where the time of one `true` goes; the numbered pieces add up to the whole of each command",
  async run(context) {
    const rows = createRows("pieces");
    const goals: Goal[] = [];
    for (const way of WAYS) {
      context.say(way);
      const own = await measure(context, way, rows);
      goals.push({
        text: `the broker's own share, ${way}, is at most ${OWN_GOAL_MS} ms at p50 (here ${own.toFixed(1)} ms)`,
        met: own <= OWN_GOAL_MS,
      });
    }
    return {
      rows: rows.rows,
      goals,
      notes: ["`pieces` holds the caller in the same process: its share of the time is in 1 and 8."],
    };
  },
};

/** Fills in the rows of one way, and answers the median of the broker's own share. */
async function measure(
  context: BenchmarkContext,
  way: (typeof WAYS)[number],
  rows: RowMaker,
): Promise<number> {
  const warm = way === "warm" ? 1 : 0;
  const plane = await createControlPlane(context, { worker: { warm: { max_containers: 4 * warm } } });
  const tracer = createTracer(plane.foundation);
  const worker = await startWorker(tracer.foundation, { runtime: tracer.runtime });
  const api = await startApi(tracer.foundation, worker.checks);
  const { sessionId } = await openSubmitter(plane.foundation, "acme");
  const caller = { key: await plane.installation.key("acme"), sessionId };
  const client = createApiClient(api.url);
  context.defer(() => worker.stop("the benchmark is over"));
  context.defer(() => api.stop("the benchmark is over"));
  context.defer(() => client.close());

  const series = new Map<string, number[]>();
  const add = (label: string, valueMs: number) => {
    const values = series.get(label) ?? [];
    values.push(valueMs);
    series.set(label, values);
  };
  const total = "HTTP request to final result";
  const [rounds, limitMs] = context.size === "quick" ? [10, 20_000] : [60, 60_000];
  const untilMs = performance.now() + limitMs;
  for (let round = -2; round < rounds && (round < 1 || performance.now() < untilMs); round += 1) {
    tracer.reset();
    let wallMs = 0;
    const sent = performance.now();
    const totalMs = await timed(async () => {
      wallMs = (await client.run(caller, ["true"])).usage?.wall_ms ?? 0;
    });
    const trace = tracer.current();
    await tracer.settled(warm);
    // The first ones compile code and open connections.
    if (round < 0) continue;
    const containerMs = trace.elapsed(warm === 1 ? "answer" : "prepare");
    const runMs = trace.elapsed("run");
    add(total, totalMs);
    add("1 request until admitted: HTTP, key, session, decision, admission", trace.endOf("admit") - sent);
    add("  of it the decision, with what it looks up", trace.elapsed("decide"));
    add("  of it the admission's script", trace.elapsed("admit"));
    add("2 queue: enqueue, wake-up, hand-over to the worker", trace.beginOf("read") - trace.endOf("admit"));
    add(
      "3 worker's record, session and decision again",
      trace.beginOf("claim") - trace.beginOf("read") - containerMs,
    );
    if (warm === 1) add("4 waiting container asked whether it is well", containerMs);
    else {
      add("4 container until ready", containerMs);
      let engineMs = 0;
      for (const operation of ["create", "attach", "start"]) {
        const callMs = trace.engineMs.get(operation) ?? 0;
        engineMs += callMs;
        add(`  of it the engine's ${operation}`, callMs);
      }
      add("  of it until bailiff-init's READY", containerMs - engineMs);
    }
    add("5 claim, and the argv on its way", trace.beginOf("run") - trace.beginOf("claim"));
    add("6 run: argv sent until report", runMs);
    add("  of it the process itself", wallMs);
    add("7 the end written", trace.endOf("finish") - trace.endOf("run"));
    add("  of it the end's script", trace.elapsed("finish"));
    add("8 delivery: wake-up of the waiter, read, answer", sent + totalMs - trace.endOf("finish"));
    add(OWN, totalMs - containerMs - runMs);
  }
  const named = (label: string) => `${label}, ${way}`;
  for (const [label, values] of series) {
    if (label === total) rows.samples(named(label), "ms", values);
    else rows.samples(named(label), "ms", values, named(total));
  }
  return rows.rows.find((row) => row.label === named(OWN))?.p50 ?? Number.POSITIVE_INFINITY;
}
