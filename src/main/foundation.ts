import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createPolicyFileSource } from "../adapters/policy-file/policy-file-source.js";
import type { RedisEndpoint } from "../adapters/redis/connection.js";
import { openRedisStores, type RedisStores } from "../adapters/redis/redis-stores.js";
import { createRandomIdSource } from "../adapters/system/random-id-source.js";
import { createSystemClock } from "../adapters/system/system-clock.js";
import { METRIC_TABLE } from "../adapters/telemetry/metric-table.js";
import { createPinoLog } from "../adapters/telemetry/pino-log.js";
import { createPrometheusMetrics, type PrometheusMetrics } from "../adapters/telemetry/prometheus-metrics.js";
import { untraced } from "../adapters/telemetry/untraced.js";
import { resolveFacts } from "../adapters/workspace-fs/resolve-facts.js";
import {
  createWorkspaceDirectory,
  type WorkspaceDirectory,
} from "../adapters/workspace-fs/workspace-directory.js";
import { createDecider, type Decider } from "../app/decide/decider.js";
import type { Config } from "../config/config.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { PolicySource } from "../ports/policy-source.js";
import type { Log, Tracer } from "../ports/telemetry.js";
import { type Closers, createClosers } from "./lifecycle.js";
import { readRedisEndpoint } from "./redis-endpoint.js";
import { VERSION } from "./version.js";
import { describeQuota, type OpenedQuota, openWorkspaceQuota } from "./workspace-quota.js";

/** How often policy files are looked at. */
const POLICY_INTERVAL_MS = 2_000;

/** What every process of Bailiff stands on. Everything opened is in `closers`. */
export interface Foundation {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: PrometheusMetrics;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly policy: PolicySource;
  readonly workspaces: WorkspaceDirectory;
  readonly quota: OpenedQuota;
  readonly stores: RedisStores;
  readonly decider: Decider;
  readonly redisEndpoint: RedisEndpoint;
  readonly closers: Closers;
}

/** The default policy that ships. */
export const DEFAULT_POLICY_PATH = fileURLToPath(new URL("../../policy/default.yaml", import.meta.url));

/** The policy documents in force: the configured ones, or the default policy that ships. */
export function policyPaths(config: Config): readonly string[] {
  if (config.policy.files.length > 0) return config.policy.files;
  return [DEFAULT_POLICY_PATH];
}

/** Opens the parts that API and worker share; on failure closes what was opened and rejects. */
export async function layFoundation(config: Config, role: string, redisUrl: string): Promise<Foundation> {
  const log = createPinoLog({
    level: config.log.level,
    base: { service: "bailiff", role },
    destination: process.stdout,
  });
  const closers = createClosers(log);
  try {
    const clock = createSystemClock();
    const metrics = createPrometheusMetrics({
      table: METRIC_TABLE,
      process: config.metrics.process,
      onUndeclared: (problem) => log.error({ problem }, "an undeclared metric was used"),
    });
    metrics.gauge("bailiff_build_info", 1, { version: VERSION, role });
    const tracer = await openTracer(config, { role, log, metrics, closers });
    const policy = await createPolicyFileSource({
      paths: policyPaths(config),
      intervalMs: POLICY_INTERVAL_MS,
      log,
      metrics,
    });
    closers.add("policy", () => policy.close());
    const reload = () => void policy.reload();
    process.on("SIGHUP", reload);
    closers.add("SIGHUP", () => process.off("SIGHUP", reload));
    // Only a root in our own data directory is ours to make; one that an operator names must be there.
    if (config.workspaces.root.startsWith(`${config.dataDir}/`)) {
      await mkdir(config.workspaces.root, { recursive: true, mode: 0o755 });
    }
    const quota = await openWorkspaceQuota(config);
    log.info({}, describeQuota(quota.tried));
    const workspaces = await createWorkspaceDirectory({
      ...config.workspaces,
      resolveFacts,
      onNew: async (path) => {
        const hold = await quota.inForce?.hold(path);
        if (hold?.held === false) log.warn({ reason: hold.reason }, "a new workspace got no quota");
      },
    });
    const redisEndpoint = readRedisEndpoint(config, redisUrl);
    const stores = await openRedisStores({
      endpoint: redisEndpoint,
      deployment: config.deployment,
      retention: { resultTtlMs: config.limits.resultTtlMs, idempotencyTtlMs: config.limits.resultTtlMs },
      clock,
      log,
    });
    closers.add("redis", () => stores.close());
    return {
      config,
      log,
      metrics,
      tracer,
      clock,
      ids: createRandomIdSource(clock),
      policy,
      workspaces,
      quota,
      stores,
      decider: createDecider({
        policy,
        images: config.images,
        workspaces,
        sessions: stores.sessions,
        clock,
      }),
      redisEndpoint,
      closers,
    };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

/** Traces only where a collector is named: its libraries are not even read otherwise. */
async function openTracer(
  config: Config,
  parts: Pick<Foundation, "log" | "metrics" | "closers"> & { readonly role: string },
): Promise<Tracer> {
  const { otlpEndpoint, otlpAuthorization, sampleRatio } = config.telemetry;
  if (otlpEndpoint === null) return untraced;
  const { createOtlpTracer } = await import("../adapters/telemetry/otlp-tracer.js");
  const { tracer, close } = createOtlpTracer({
    endpoint: otlpEndpoint,
    authorization: otlpAuthorization,
    sampleRatio,
    role: parts.role,
    version: VERSION,
    deployment: config.deployment,
    log: parts.log,
    metrics: parts.metrics,
  });
  // Behind worker and API, which end their last spans.
  parts.closers.add("traces", close);
  return tracer;
}
