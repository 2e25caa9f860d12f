import { fileURLToPath } from "node:url";
import { createDockerRuntime } from "../adapters/docker/docker-runtime.js";
import type { Config } from "../config/config.js";
import type { Clock } from "../ports/clock.js";
import type { ContainerRuntime } from "../ports/container-runtime.js";
import type { Log, Metrics } from "../ports/telemetry.js";

/** bailiff-init as the engine sees it: the configured path, or the one the build made. */
export function initPathOf(config: Config): string {
  return config.initPath ?? fileURLToPath(new URL("../../images/init/build/bailiff-init", import.meta.url));
}

/** The configured engine's containers, in the name of one worker instance. */
export function openEngine(
  config: Config,
  deps: {
    readonly workerId: string;
    readonly clock: Clock;
    readonly log: Log;
    readonly metrics: Metrics;
  },
): ContainerRuntime {
  return createDockerRuntime({
    ...deps,
    socketPath: config.docker.host.replace(/^unix:\/\//, ""),
    deploymentId: config.deployment,
    initPath: initPathOf(config),
    probeUid: config.workspaces.runnerUid,
    probeGid: config.workspaces.runnerGid,
    callLimitMs: config.docker.callLimitMs,
  });
}
