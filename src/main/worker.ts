import { fileURLToPath } from "node:url";
import { createDockerRuntime } from "../adapters/docker/docker-runtime.js";
import { createBullmqQueueConsumer } from "../adapters/redis/bullmq-queue-consumer.js";
import { readRepositoryFacts } from "../adapters/workspace-fs/read-repository-facts.js";
import { findProfile, type Profile, profileNames } from "../app/decide/profile-catalog.js";
import { createActiveCommands } from "../app/execute/active-commands.js";
import { createColdContainers } from "../app/execute/cold-containers.js";
import { createExecuteCommand } from "../app/execute/execute-command.js";
import { createHeldCommands } from "../app/execute/held-commands.js";
import { createRecheckCommand } from "../app/execute/recheck-command.js";
import { createPeriodic } from "../app/periodic.js";
import type { ReadinessCheck } from "../app/readiness.js";
import { createReconcileCommands } from "../app/recovery/reconcile-commands.js";
import { createSweepContainers } from "../app/recovery/sweep-containers.js";
import type { Config } from "../config/config.js";
import type { CommandStore } from "../ports/command-store.js";
import type { ContainerRuntime } from "../ports/container-runtime.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";

const LEASE_MS = 15_000;
const HEARTBEAT_MS = 4_000;
const SWEEP_MS = 20_000;
const RECONCILE_MS = 5_000;
/** Of the shutdown grace, kept for killing, reporting and recording. */
const SHUTDOWN_MARGIN_MS = 5_000;

/** What a test may put between the worker and its parts, to break them at a chosen step. */
export interface WorkerSeams {
  readonly runtime?: (runtime: ContainerRuntime) => ContainerRuntime;
  readonly commands?: (commands: CommandStore) => CommandStore;
}

/** The engine is not fit to run commands: one line per problem. */
export class EngineUnfit extends Error {
  override readonly name = "EngineUnfit";
}

/** bailiff-init as the engine sees it: the configured path, or the one the build made. */
export function initPathOf(config: Config): string {
  return config.initPath ?? fileURLToPath(new URL("../../images/init/build/bailiff-init", import.meta.url));
}

/** A worker, probing the engine first and taking commands once it is fit. Rejects with EngineUnfit otherwise. */
export async function startWorker(
  foundation: Foundation,
  seams: WorkerSeams = {},
): Promise<
  RunningProcess & { readonly workerId: string; readonly checks: Readonly<Record<string, ReadinessCheck>> }
> {
  const { config, metrics, clock, ids, policy, workspaces, stores, decider } = foundation;
  const workerId = ids.next("wrk");
  const log = foundation.log.child({ worker_id: workerId });
  const dockerRuntime = createDockerRuntime({
    socketPath: config.docker.host.replace(/^unix:\/\//, ""),
    deploymentId: config.deployment,
    workerId,
    initPath: initPathOf(config),
    probeUid: config.workspaces.runnerUid,
    probeGid: config.workspaces.runnerGid,
    clock,
    log,
    metrics,
  });
  const runtime = seams.runtime?.(dockerRuntime) ?? dockerRuntime;
  const commands = seams.commands?.(stores.commands) ?? stores.commands;

  const profiles = profileNames(policy.current(), config.images)
    .map((name) => findProfile(name, policy.current(), config.images))
    .filter((profile): profile is Profile => profile !== null && config.worker.pools.includes(profile.pool));
  const engine = await runtime.probe(profiles, config.workspaces.root);
  if (engine.problems.length > 0) {
    await runtime.close();
    throw new EngineUnfit(engine.problems.join("\n"));
  }
  log.info(
    { engine: engine.engineVersion, api: engine.apiVersion, cgroup: engine.cgroupVersion },
    "engine is fit",
  );

  let isDraining = false;
  let isGivingUp = false;
  const active = createActiveCommands();
  const containers = createColdContainers({ runtime, log, metrics });
  const heartbeat = createPeriodic({
    name: "heartbeat",
    intervalMs: HEARTBEAT_MS,
    log,
    work: () =>
      stores.leases.heartbeat({
        workerId,
        engineId: engine.engineId,
        leaseMs: LEASE_MS,
        nowMs: clock.nowMs(),
      }),
  });
  const sweep = createPeriodic({
    name: "sweep",
    intervalMs: SWEEP_MS,
    log,
    work: createSweepContainers({
      runtime,
      leases: stores.leases,
      heldHere: () => new Set([...active.containerIds(), ...containers.containerIds()]),
      workerId,
      clock,
      log,
      metrics,
    }),
  });
  const reconcile = createPeriodic({
    name: "reconcile",
    intervalMs: RECONCILE_MS,
    log,
    work: createReconcileCommands({
      commands,
      leases: stores.leases,
      queue: stores.queue,
      runtime,
      engineId: engine.engineId,
      graceMs: config.limits.graceMs,
      clock,
      log,
      metrics,
    }),
  });
  const execute = createExecuteCommand({
    commands,
    recheck: createRecheckCommand({
      decider,
      sessions: stores.sessions,
      workspaces,
      policy,
      repositoryFacts: readRepositoryFacts,
      environment: config.environment,
      clock,
      graceMs: config.limits.graceMs,
    }),
    containers,
    active,
    held: createHeldCommands({
      commands,
      clock,
      log,
      metrics,
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      givesUp: () => isGivingUp,
    }),
    limits: config.limits,
    workerId,
    clock,
    ids,
    log,
    metrics,
    isDraining: () => isDraining,
  });

  // The lease stands before the first claim can ask for it.
  await stores.leases.heartbeat({
    workerId,
    engineId: engine.engineId,
    leaseMs: LEASE_MS,
    nowMs: clock.nowMs(),
  });
  const endCancels = await stores.cancels.subscribe((commandId) => active.cancel(commandId));
  const consumers = config.worker.pools.map((pool) =>
    createBullmqQueueConsumer({
      endpoint: { url: foundation.redisUrl },
      deployment: config.deployment,
      pool,
      concurrency: config.worker.concurrency,
      log,
      metrics,
    }),
  );
  for (const duty of [heartbeat, sweep, reconcile]) duty.start();
  for (const consumer of consumers) await consumer.start(execute);
  log.info({ pools: config.worker.pools, concurrency: config.worker.concurrency }, "worker takes commands");

  return {
    workerId,
    checks: {
      worker: async () =>
        consumers.every((consumer) => consumer.isFetching()) ? null : "the worker fetches nothing",
    },
    async stop(reason) {
      isDraining = true;
      log.info({ reason, running: active.size }, "worker takes no more commands");
      const patienceMs = Math.max(0, config.worker.shutdownGraceMs - SHUTDOWN_MARGIN_MS);
      const ender = setTimeout(() => active.cancelAll("shutdown"), patienceMs);
      const lastMoment = setTimeout(() => {
        isGivingUp = true;
      }, config.worker.shutdownGraceMs);
      await Promise.all(consumers.map((consumer) => consumer.drain()));
      clearTimeout(ender);
      clearTimeout(lastMoment);
      await endCancels();
      await Promise.all([sweep.stop(), reconcile.stop()]);
      await containers.settled();
      await heartbeat.stop();
      await stores.leases.leave(workerId);
      await Promise.all(consumers.map((consumer) => consumer.close()));
      await runtime.close();
    },
  };
}
