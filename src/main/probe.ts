import { buildProbeApp } from "../adapters/http/probe-app.js";
import type { ReadinessCheck } from "../app/readiness.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";
import { createProcessReadiness } from "./process-readiness.js";

/** Health, readiness and metrics of a worker process, listening. */
export async function startProbe(
  foundation: Foundation,
  port: number,
  checks: Readonly<Record<string, ReadinessCheck>>,
): Promise<RunningProcess> {
  const { config, log, metrics } = foundation;
  const app = buildProbeApp({
    services: createProcessReadiness(foundation, checks),
    metricsText: () => metrics.metricsText(),
  });
  const url = await app.listen({ host: config.server.host, port });
  log.info({ probe_url: url }, "health and metrics are served");
  return { stop: () => app.close() };
}
