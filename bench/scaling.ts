import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { aSession } from "../test/support/redis-fixtures.js";
import type { Benchmark } from "./measure/benchmark.js";
import { createControlPlane, openSubmitter } from "./measure/control-plane.js";
import { elapsedMsOf, runBatch, startFleet } from "./measure/fleet.js";
import { createRedisMeter, type RedisReading } from "./measure/redis-meter.js";
import { createRows } from "./measure/row.js";
import { keepGoing } from "./measure/sampling.js";
import type { ScalingInputs } from "./measure/scaling-model.js";

const CONTAINER_MS = 500;
const CONCURRENCY = 4;
/** So many commands at once are under way where their cost is measured: what is done for all of them together is shared. */
const DENSE = 16;
const DENSE_MS = 20;
const INPUTS_PATH = fileURLToPath(new URL("scaling-inputs.json", import.meta.url));

/** Whether the control plane gives each worker more its share, and what a command and a worker cost Redis. */
export const scaling: Benchmark = {
  name: "scaling",
  title: `1, 2 and 4 worker processes of ${CONCURRENCY} slots, containers simulated at ${CONTAINER_MS} ms; what each costs Redis`,
  async run(context) {
    const isQuick = context.size === "quick";
    const [perWorker, measured, watched, queued, sessions, idleMs] = isQuick
      ? [24, 200, 100, 100, 200, 3_000]
      : [80, 1_000, 400, 1_000, 2_000, 15_000];
    const rows = createRows("scaling");
    const plane = await createControlPlane(context, { worker: { concurrency: CONCURRENCY } });
    const submitter = await openSubmitter(plane.foundation, "acme");
    const meter = createRedisMeter(plane.redis.url);
    context.defer(() => meter.close());
    const own = await meter.connections();

    const restful = async () => {
      const begin = await meter.read();
      const began = performance.now();
      await new Promise((resolve) => setTimeout(resolve, idleMs));
      const end = await meter.read();
      const seconds = (performance.now() - began) / 1_000;
      return {
        operations: (end.operations - begin.operations) / seconds,
        cpuMs: (end.cpuMs - begin.cpuMs) / seconds,
      };
    };
    context.say("Redis without workers");
    const base = await restful();

    context.say("what a command costs");
    const dense = await startFleet(plane, { workers: 1, concurrency: DENSE, containerMs: DENSE_MS });
    context.defer(() => dense.stop());
    const runDense = (commands: number) =>
      keepGoing({ concurrency: DENSE, forMs: 60_000, atMost: commands }, () => submitter.submit(60_000));
    await runDense(4 * DENSE);
    const before = await meter.read();
    const { latenciesMs, elapsedMs } = await runDense(measured);
    const after = await meter.read();
    const per = (of: (reading: RedisReading) => number) => (of(after) - of(before)) / latenciesMs.length;
    const { requests, callsInScripts } = await meter.watch(() => runDense(watched));
    await dense.stop();

    const ratePerSecond: { workers: number; rate: number }[] = [];
    let connectionsPerWorker = 0;
    let idle = { operations: 0, cpuMs: 0 };
    for (const workers of [1, 2, 4]) {
      context.say(`${workers} worker processes`);
      const fleet = await startFleet(plane, { workers, concurrency: CONCURRENCY, containerMs: CONTAINER_MS });
      context.defer(() => fleet.stop());
      await runBatch(plane, submitter, CONCURRENCY * workers);
      const records = await runBatch(plane, submitter, perWorker * workers);
      const rate = records.length / (elapsedMsOf(records) / 1_000);
      ratePerSecond.push({ workers, rate });
      const first = "1 worker process, commands";
      if (workers === 1) rows.value(first, "per s", rate);
      else rows.value(`${workers} worker processes, commands`, "per s", rate, first);
      connectionsPerWorker = ((await meter.connections()) - own) / workers;
      if (workers === 4) {
        context.say("idle workers");
        const busy = await restful();
        idle = {
          operations: (busy.operations - base.operations) / workers,
          cpuMs: (busy.cpuMs - base.cpuMs) / workers,
        };
      }
      await fleet.stop();
    }

    context.say("what is queued, and sessions");
    const beforeQueued = (await meter.read()).memoryBytes;
    await keepGoing({ concurrency: 16, forMs: 60_000, atMost: queued }, () => submitter.submit(0));
    const afterQueued = (await meter.read()).memoryBytes;
    for (let i = 0; i < sessions; i += 1) {
      await plane.foundation.stores.sessions.create(aSession({ tenant: "acme", workspaceId: "main" }));
    }
    const afterSessions = (await meter.read()).memoryBytes;

    const sent = [...requests.values()].reduce((sum, each) => sum + each, 0);
    const inputs: ScalingInputs = {
      measuredOn: `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), Node ${process.version}`,
      requestsPerCommand: rounded(sent / watched),
      scriptCallsPerCommand: rounded(callsInScripts / watched),
      redisCpuMsPerCommand: rounded(per((reading) => reading.cpuMs)),
      redisInBytesPerCommand: Math.round(per((reading) => reading.inBytes)),
      redisOutBytesPerCommand: Math.round(per((reading) => reading.outBytes)),
      memoryBytesPerQueued: Math.round((afterQueued - beforeQueued) / queued),
      memoryBytesPerFinished: Math.round(per((reading) => reading.memoryBytes)),
      memoryBytesPerSession: Math.round((afterSessions - afterQueued) / sessions),
      connectionsPerWorker,
      operationsPerIdleWorkerSecond: rounded(idle.operations),
      redisCpuMsPerIdleWorkerSecond: rounded(idle.cpuMs),
      ratePerSecond: ratePerSecond.map(({ workers, rate }) => ({ workers, rate: rounded(rate) })),
    };
    rows.value(
      `${DENSE} callers, containers of ${DENSE_MS} ms: commands`,
      "per s",
      latenciesMs.length / (elapsedMs / 1_000),
    );
    rows.value("requests to Redis per command", "requests", inputs.requestsPerCommand);
    for (const [name, count] of [...requests].sort(([, a], [, b]) => b - a)) {
      if (count >= watched / 4) rows.value(`  of it ${name}`, "requests", count / watched);
    }
    rows.value("calls inside scripts per command", "requests", inputs.scriptCallsPerCommand);
    rows.value("Redis's processor time per command", "ms", inputs.redisCpuMsPerCommand);
    rows.value("bytes to Redis per command", "bytes", inputs.redisInBytesPerCommand);
    rows.value("bytes from Redis per command", "bytes", inputs.redisOutBytesPerCommand);
    rows.value("Redis memory per queued command", "bytes", inputs.memoryBytesPerQueued);
    rows.value("Redis memory per finished command", "bytes", inputs.memoryBytesPerFinished);
    rows.value("Redis memory per session", "bytes", inputs.memoryBytesPerSession);
    rows.value("connections per worker", "connections", inputs.connectionsPerWorker);
    rows.value("operations of an idle worker", "per s", inputs.operationsPerIdleWorkerSecond);
    rows.value(
      "Redis's processor time per idle worker and second",
      "ms",
      inputs.redisCpuMsPerIdleWorkerSecond,
    );
    // A first look is too short to be kept.
    if (!isQuick) await writeFile(INPUTS_PATH, `${JSON.stringify(inputs, null, 2)}\n`);
    return {
      rows: rows.rows,
      goals: [],
      notes: isQuick
        ? []
        : [
            `scaling: written to ${INPUTS_PATH}; \`npx vitest run -u test/unit/docs/scaling-page.test.ts\` takes it into docs/scaling.md.`,
          ],
    };
  },
};

const rounded = (value: number) => Math.round(value * 1_000) / 1_000;
