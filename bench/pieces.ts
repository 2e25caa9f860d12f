import { startApi } from "../src/main/api.js";
import { startWorker } from "../src/main/worker.js";
import { createApiClient } from "./measure/api-client.js";
import type { Benchmark } from "./measure/benchmark.js";
import { createControlPlane, openSubmitter } from "./measure/control-plane.js";
import { createRows } from "./measure/row.js";
import { timed } from "./measure/sampling.js";
import { createTracer } from "./measure/trace.js";

const TOTAL = "HTTP request to final result, cold";
const OWN = "of it the broker's own share";
const OWN_GOAL_MS = 5;

/** Where the time of one command goes. API and worker are composed in this process, so that one clock sees all steps. */
export const pieces: Benchmark = {
  name: "pieces",
  title: "where the time of one `true` goes; the numbered pieces add up to the whole of each command",
  async run(context) {
    const plane = await createControlPlane(context);
    const tracer = createTracer(plane.foundation);
    const worker = await startWorker(tracer.foundation, { runtime: tracer.runtime });
    context.defer(() => worker.stop("the benchmark is over"));
    const api = await startApi(tracer.foundation, worker.checks);
    context.defer(() => api.stop("the benchmark is over"));
    const { sessionId } = await openSubmitter(plane.foundation, "acme");
    const caller = { key: await plane.installation.key("acme"), sessionId };
    const client = createApiClient(api.url);
    context.defer(() => client.close());

    const series = new Map<string, number[]>();
    const add = (label: string, valueMs: number) => {
      const values = series.get(label) ?? [];
      values.push(valueMs);
      series.set(label, values);
    };
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
      await tracer.removed();
      // The first ones compile code and open connections.
      if (round < 0) continue;
      const containerMs = trace.elapsed("prepare");
      const runMs = trace.elapsed("run");
      add(TOTAL, totalMs);
      add("1 request until admitted: HTTP, key, session, decision, admission", trace.endOf("admit") - sent);
      add("  of it the decision, with what it looks up", trace.elapsed("decide"));
      add("  of it the admission's script", trace.elapsed("admit"));
      add("2 queue: enqueue, wake-up, hand-over to the worker", trace.beginOf("read") - trace.endOf("admit"));
      add(
        "3 worker's record, session and decision again",
        trace.beginOf("claim") - trace.beginOf("read") - containerMs,
      );
      add("4 container until ready", containerMs);
      let engineMs = 0;
      for (const operation of ["create", "attach", "start"]) {
        const callMs = trace.engineMs.get(operation) ?? 0;
        engineMs += callMs;
        add(`  of it the engine's ${operation}`, callMs);
      }
      add("  of it until bailiff-init's READY", containerMs - engineMs);
      add("5 claim, and the argv on its way", trace.beginOf("run") - trace.beginOf("claim"));
      add("6 run: argv sent until report", runMs);
      add("  of it the process itself", wallMs);
      add("7 the end written", trace.endOf("finish") - trace.endOf("run"));
      add("  of it the end's script", trace.elapsed("finish"));
      add("8 delivery: wake-up of the waiter, read, answer", sent + totalMs - trace.endOf("finish"));
      add(OWN, totalMs - containerMs - runMs);
    }
    const rows = createRows("pieces");
    for (const [label, values] of series) {
      if (label === TOTAL) rows.samples(label, "ms", values);
      else rows.samples(label, "ms", values, TOTAL);
    }
    const own = rows.rows.find((row) => row.label === OWN);
    return {
      rows: rows.rows,
      goals: [
        {
          text: `the broker's own share is at most ${OWN_GOAL_MS} ms at p50 (here ${own?.p50.toFixed(1)} ms)`,
          met: (own?.p50 ?? Number.POSITIVE_INFINITY) <= OWN_GOAL_MS,
        },
      ],
      notes: ["`pieces` holds the caller in the same process: its share of the time is in 1 and 8."],
    };
  },
};
