import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createControlPlane, openSubmitter } from "../../../bench/measure/control-plane.js";
import { type Fleet, runBatch, startFleet } from "../../../bench/measure/fleet.js";
import { createRedisMeter } from "../../../bench/measure/redis-meter.js";
import type { ScalingInputs } from "../../../bench/measure/scaling-model.js";
import { readTestEnvironment } from "../../support/environment.js";

const WORKERS = 4;
const CONCURRENCY = 2;
const INPUTS = new URL("../../../bench/scaling-inputs.json", import.meta.url);

const undone: (() => Promise<unknown> | unknown)[] = [];
let plane: Awaited<ReturnType<typeof createControlPlane>>;
let fleet: Fleet;

beforeAll(async () => {
  plane = await createControlPlane({
    size: "quick",
    minutes: null,
    environment: readTestEnvironment(),
    runId: "scaling",
    say: () => undefined,
    defer: (undo) => void undone.push(undo),
  });
  fleet = await startFleet(plane, { workers: WORKERS, concurrency: CONCURRENCY, containerMs: 200 });
  undone.push(() => fleet.stop());
});
afterAll(async () => {
  for (let undo = undone.pop(); undo !== undefined; undo = undone.pop()) await undo();
});

it("four worker processes share one queue: each command ends once, each worker has its part and never more than its slots", async () => {
  const submitter = await openSubmitter(plane.foundation, "acme");
  const records = await runBatch(plane, submitter, 80);
  expect(new Set(records.map(({ id }) => id)).size).toBe(80);
  expect(records.map(({ result }) => result?.outcome)).toEqual(Array(80).fill("completed"));
  expect(new Set(records.map(({ containerId, workerId }) => `${workerId} ${containerId}`)).size).toBe(80);
  const workers = new Set(records.map(({ workerId }) => workerId));
  expect(workers.size).toBe(WORKERS);
  for (const worker of workers) {
    const own = records.filter(({ workerId }) => workerId === worker);
    for (const { dispatchedAtMs } of own) {
      const at = dispatchedAtMs ?? Number.NaN;
      // In the very millisecond of an end the slot may have its next command.
      const together = own.filter(
        (each) => (each.dispatchedAtMs ?? 0) <= at && at < (each.finishedAtMs ?? 0),
      );
      expect(together.length).toBeLessThanOrEqual(CONCURRENCY);
    }
  }
});

it("a command costs Redis about as many requests as the model of a large fleet counts with", async () => {
  const inputs = JSON.parse(await readFile(INPUTS, "utf8")) as ScalingInputs;
  const submitter = await openSubmitter(plane.foundation, "counted");
  const meter = createRedisMeter(plane.redis.url);
  const commands = 40;
  const { requests, callsInScripts } = await meter.watch(() => runBatch(plane, submitter, commands));
  meter.close();
  // What is done once per command, whatever the time it takes; duties and polls go by the time.
  const scripts = requests.get("evalsha") ?? 0;
  expect(scripts).toBeGreaterThanOrEqual(4 * commands);
  expect(callsInScripts / commands).toBeGreaterThan(inputs.scriptCallsPerCommand / 2);
  expect(callsInScripts / commands).toBeLessThan(inputs.scriptCallsPerCommand * 3);
});
