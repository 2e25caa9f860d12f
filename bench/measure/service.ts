import { type BailiffProcess, createInstallation, type Installation } from "../../test/support/bailiff.js";
import { leftoverContainers } from "../../test/support/leftover-containers.js";
import type { BenchmarkContext } from "./benchmark.js";
import { createHandEngine } from "./hand-engine.js";

/** An installation of its own, as `npm start` has it, whose processes and containers end with the benchmark. */
export interface Service {
  readonly installation: Installation;
  start(role: "api" | "worker" | "all", settings?: Record<string, unknown>): Promise<BailiffProcess>;
  /** Resolves when none of this installation's containers is left; rejects after a minute. */
  containersGone(): Promise<void>;
}

const GONE_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 10;

/** Prepares an installation; nothing runs yet. */
export async function createService(
  context: BenchmarkContext,
  settings: Record<string, unknown> = {},
): Promise<Service> {
  const { dockerSocket } = context.environment;
  const installation = await createInstallation(settings);
  context.defer(() => installation.remove());
  const engine = createHandEngine(dockerSocket);
  const label = `bailiff.deployment=${installation.deployment}`;
  context.defer(async () => {
    // Only what an interrupted process left; one that was stopped has removed its own.
    for (const id of await leftoverContainers(dockerSocket, installation.deployment)) await engine.remove(id);
    engine.close();
  });
  return {
    installation,
    async start(role, more) {
      const started = await installation.start(role, more);
      context.defer(() => started.stop());
      return started;
    },
    async containersGone() {
      const untilMs = performance.now() + GONE_LIMIT_MS;
      while ((await engine.list(label)).length > 0) {
        if (performance.now() > untilMs) throw new Error("containers of ended commands are still there");
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    },
  };
}
