import { afterAll, beforeAll, expect, it } from "vitest";
import type { RuntimeFault } from "../../../src/ports/container-runtime.js";
import { createDockerBench, type DockerBench } from "../../support/docker-bench.js";

/** Preparations that compete for the engine: their calls take longer and overlap each other. */
const LANES = 4;
const ROUNDS = 50;
const STEP_MS = 3;

/** Looks at the engine; each preparation has a runtime of its own, which it closes. */
let observer: DockerBench;
beforeAll(async () => {
  observer = await createDockerBench();
});
afterAll(() => observer.close());

it("a preparation given up at any moment leaves nothing once its runtime is closed", async () => {
  const workspace = await observer.workspace();
  const giveUp = async (afterMs: number) => {
    const bench = await createDockerBench({ deploymentId: observer.deploymentId });
    const caller = new AbortController();
    const preparing = bench.runtime.prepare(bench.purpose(workspace), caller.signal);
    setTimeout(() => caller.abort(), afterMs);
    const reached = await preparing.then(
      (container) => container.destroy().then(() => "ready"),
      ({ code, operation }: RuntimeFault) => `${operation}: ${code}`,
    );
    await bench.runtime.close();
    return reached;
  };
  const reached = new Set<string>();
  const lane = async (number: number) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      reached.add(await giveUp(round * STEP_MS + (number * STEP_MS) / LANES));
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  // The engine's list as it is now: nothing may be on its way any more.
  expect(await observer.leftovers()).toEqual([]);
  expect([...reached]).toEqual(expect.arrayContaining(["create: not_ready", "start: not_ready"]));
});
