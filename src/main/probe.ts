import { buildProbeApp } from "../adapters/http/probe-app.js";
import { createReadiness, type ReadinessCheck } from "../app/readiness.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";

/** Health, readiness and metrics of a worker process, listening. */
export async function startProbe(
  foundation: Foundation,
  port: number,
  checks: Readonly<Record<string, ReadinessCheck>>,
): Promise<RunningProcess> {
  const { config, log, metrics, policy, stores } = foundation;
  const app = buildProbeApp({
    services: createReadiness(
      {
        redis: async () => ((await stores.isAnswering()) ? null : "redis does not answer"),
        // A refused document leaves the old policy in force: worth seeing, no reason to take no work.
        policy: async () => null,
        ...checks,
      },
      { policy: () => policy.problem() },
    ),
    metricsText: () => metrics.metricsText(),
  });
  const url = await app.listen({ host: config.server.host, port });
  log.info({ probe_url: url }, "health and metrics are served");
  return { stop: () => app.close() };
}
