import { type BailiffProcess, createInstallation, type Installation } from "../../test/support/bailiff.js";
import { leftoverContainers } from "../../test/support/leftover-containers.js";
import type { BenchmarkContext } from "./benchmark.js";
import { createHandEngine } from "./hand-engine.js";

/** An installation of its own, as `npm start` has it, whose processes and containers end with the benchmark. */
export interface Service {
  readonly installation: Installation;
  start(role: "api" | "worker" | "all", settings?: Record<string, unknown>): Promise<BailiffProcess>;
  /**
   * Resolves when the containers of ended commands are removed and those made ahead are ready: none, for a worker that makes
   * none. Rejects after a minute. For `all`, whose metrics say so.
   */
  settled(bailiff: BailiffProcess): Promise<void>;
}

const GONE_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 10;

/** How many containers made ahead are in each state. */
async function warmStates({
  url,
}: BailiffProcess): Promise<Record<"waiting" | "starting" | "leaving", number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const of = (state: string) =>
    Number(new RegExp(`^bailiff_warm_containers\\{state="${state}"\\} (\\d+)`, "m").exec(text)?.[1] ?? 0);
  return { waiting: of("waiting"), starting: of("starting"), leaving: of("leaving") };
}

/** Prepares an installation; nothing runs yet. `dockerSocket` is that of the engine which `settings` name. */
export async function createService(
  context: BenchmarkContext,
  settings: Record<string, unknown> = {},
  dockerSocket = context.environment.dockerSocket,
): Promise<Service> {
  const installation = await createInstallation({ server: { port: 0, public_metrics: true }, ...settings });
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
    async settled(bailiff) {
      const untilMs = performance.now() + GONE_LIMIT_MS;
      for (;;) {
        const warm = await warmStates(bailiff);
        if (warm.starting === 0 && warm.leaving === 0 && (await engine.list(label)).length === warm.waiting)
          return;
        if (performance.now() > untilMs) throw new Error("containers of ended commands are still there");
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    },
  };
}
