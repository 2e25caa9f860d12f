import { startPrivateRedisServer } from "../adapters/redis-server/private-redis-server.js";
import { createPinoLog } from "../adapters/telemetry/pino-log.js";
import type { Config } from "../config/config.js";
import { redactConfig } from "../config/redact-config.js";
import { startCaretaker } from "./caretaker.js";
import { startEvidence } from "./evidence.js";
import { layFoundation } from "./foundation.js";
import { runUntilSignal } from "./lifecycle.js";
import { startWorker, type WorkerSeams } from "./worker.js";

/** Beyond the worker's own grace, for closing connections. */
const CLOSE_MARGIN_MS = 15_000;

/** Which parts one process runs. */
export type Role = "api" | "worker" | "all";

/**
 * Runs a process until it is told to stop; resolves with its exit status. Rejects when it can't start.
 * `seams` are for tests that break a worker at a chosen step.
 */
export async function runProcess(role: Role, config: Config, seams: WorkerSeams = {}): Promise<number> {
  const log = createPinoLog({
    level: config.log.level,
    base: { service: "bailiff", role },
    destination: process.stdout,
  });
  log.info({ config: redactConfig(config) }, "starting");
  let redisUrl = config.redis.url;
  let stopRedis: (() => Promise<void>) | null = null;
  if (redisUrl === null) {
    if (role !== "all")
      throw new Error(
        `\`bailiff ${role}\` needs redis.url (BAILIFF_REDIS_URL): only \`bailiff all\` has a Redis of its own`,
      );
    const server = await startPrivateRedisServer({
      directory: `${config.dataDir}/redis`,
      program: "redis-server",
      log,
      onDeath: (message) => {
        log.error({}, message);
        process.exit(1);
      },
    });
    redisUrl = server.url;
    stopRedis = () => server.stop();
  }
  try {
    const foundation = await layFoundation(config, role, redisUrl);
    if (stopRedis !== null) {
      // Behind everything that uses it.
      foundation.closers.addLast("redis-server", stopRedis);
      stopRedis = null;
    }
    try {
      const evidence = await startEvidence(foundation);
      // Behind worker and API: what they end last is written too.
      foundation.closers.add("evidence", () => evidence.stop("shutdown"));
      const worker = role === "api" ? null : await startWorker(foundation, seams);
      if (worker !== null) {
        foundation.closers.add("worker", () => worker.stop("shutdown"));
      } else {
        const caretaker = startCaretaker(foundation);
        foundation.closers.add("caretaker", () => caretaker.stop("shutdown"));
      }
      if (role === "worker" && config.worker.probePort !== null) {
        const { startProbe } = await import("./probe.js");
        const probe = await startProbe(foundation, config.worker.probePort, worker?.checks ?? {});
        // Behind the worker: it tells of the shutdown as well.
        foundation.closers.addLast("probe", () => probe.stop("shutdown"));
      }
      if (role !== "worker") {
        await foundation.workspaces.emptyTrash();
        // Only where it is served: the HTTP framework is half of a worker's way to its first command.
        const { startApi } = await import("./api.js");
        const api = await startApi(foundation, worker?.checks ?? {});
        foundation.closers.add("api", () => api.stop("shutdown"));
      }
      return await runUntilSignal(
        { stop: () => foundation.closers.closeAll() },
        log,
        config.worker.shutdownGraceMs + CLOSE_MARGIN_MS,
      );
    } catch (error) {
      await foundation.closers.closeAll();
      throw error;
    }
  } finally {
    await stopRedis?.();
  }
}
