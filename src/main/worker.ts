import { availableParallelism, hostname } from "node:os";
import { createBullmqQueueConsumer } from "../adapters/redis/bullmq-queue-consumer.js";
import { measureWorkspace } from "../adapters/workspace-fs/measure-workspace.js";
import { readRepositoryFacts } from "../adapters/workspace-fs/read-repository-facts.js";
import { createBindRequest } from "../app/approvals/bind-request.js";
import { listProfiles } from "../app/decide/profile-catalog.js";
import { createActiveCommands } from "../app/execute/active-commands.js";
import { createColdContainers } from "../app/execute/cold-containers.js";
import { createExecuteCommand } from "../app/execute/execute-command.js";
import { createHeldCommands } from "../app/execute/held-commands.js";
import { createOfferCommand } from "../app/execute/offer-command.js";
import { withQuota } from "../app/execute/quota-containers.js";
import { createRecheckCommand, longestContainerMs } from "../app/execute/recheck-command.js";
import { createTakeOffers } from "../app/execute/take-offers.js";
import { createWarmContainers } from "../app/execute/warm-containers.js";
import { createWorkspaceWatch } from "../app/execute/workspace-watch.js";
import type { ReadinessCheck } from "../app/readiness.js";
import { createDeadWorkers } from "../app/recovery/dead-workers.js";
import { createSweepContainers } from "../app/recovery/sweep-containers.js";
import type { Config } from "../config/config.js";
import type { CommandStore } from "../ports/command-store.js";
import type { ContainerRuntime } from "../ports/container-runtime.js";
import { openEngine } from "./engine.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";
import { claimToSendMs, createDutyFactory, createRecoveryDuties } from "./recovery-duties.js";

/** Of the shutdown grace, kept for recording what was killed and reported. */
const RECORD_MARGIN_MS = 3_000;
/** After the grace, for the engine to remove what is left and for rounds under way; the sweeper of a peer does the rest. */
const TIDY_LIMIT_MS = 5_000;

/** How often age, health and demand of waiting containers are looked at when nothing else is going on. */
const KEEP_WARM_MS = 1_000;

/** A preparation is four engine calls and the wait for bailiff-init. */
function creationGraceMs(config: Config): number {
  return 4 * config.docker.callLimitMs + 10_000;
}

/** What a test may put between the worker and its parts, to break them at a chosen step. */
export interface WorkerSeams {
  readonly runtime?: (runtime: ContainerRuntime) => ContainerRuntime;
  readonly commands?: (commands: CommandStore) => CommandStore;
}

/** The engine or the workspaces' file system is not fit to run commands: one line per problem. */
class WorkerUnfit extends Error {
  override readonly name = "WorkerUnfit";
}

/** Containers being made at once. Making one is work for the cores that the engine shares with this worker. */
function startsAtOnce(): number {
  return 2 * availableParallelism();
}

/** A worker, probing the engine first and taking commands once it is fit. Rejects with WorkerUnfit otherwise. */
export async function startWorker(
  foundation: Foundation,
  seams: WorkerSeams = {},
): Promise<
  RunningProcess & { readonly workerId: string; readonly checks: Readonly<Record<string, ReadinessCheck>> }
> {
  const { config, metrics, tracer, clock, ids, policy, workspaces, stores, decider } = foundation;
  const workerId = ids.next("wrk");
  const log = foundation.log.child({ worker_id: workerId });
  const dockerRuntime = openEngine(config, { workerId, clock, log, metrics });
  const seamed = seams.runtime?.(dockerRuntime) ?? dockerRuntime;
  const { inForce, tried } = foundation.quota;
  const isRequired = config.workspaces.quota === "required";
  const runtime = inForce === null ? seamed : withQuota(seamed, { quota: inForce, isRequired, log });
  const commands = seams.commands?.(stores.commands) ?? stores.commands;

  const profiles = listProfiles(policy.current(), config.images).filter((profile) =>
    config.worker.pools.includes(profile.pool),
  );
  const unheld = isRequired && !tried.held ? [`workspaces.quota is required: ${tried.reason}`] : [];
  const engine = await runtime.probe(profiles, config.workspaces.root);
  const problems = [...unheld, ...engine.problems];
  if (problems.length > 0) {
    await runtime.close();
    throw new WorkerUnfit(problems.join("\n"));
  }
  for (const warning of engine.warnings) log.warn({}, warning);
  log.info(
    { engine: engine.engineVersion, api: engine.apiVersion, cgroup: engine.cgroupVersion },
    "engine is fit",
  );

  const draining = new AbortController();
  let isGivingUp = false;
  const active = createActiveCommands();
  const cold = createColdContainers({ runtime, startsAtOnce: startsAtOnce(), log, metrics });
  const later = (delayMs: number, work: () => void) => void setTimeout(work, delayMs).unref();
  const { maxContainers, maxMemoryBytes, maxAgeMs, idleMs, offerMs } = config.worker.warm;
  const containers = createWarmContainers({
    cold,
    terms: { containers: maxContainers, memoryBytes: maxMemoryBytes, maxAgeMs, idleMs },
    lifetimeMs: maxAgeMs + longestContainerMs(config.limits),
    clock,
    later,
    draining: draining.signal,
    onWaiting: (fleetKind) => {
      if (offerMs === 0) return;
      stores.warmHomes
        .settle(fleetKind, workerId, Math.min(idleMs, maxAgeMs))
        .catch(() => metrics.count("bailiff_warm_home_failures_total"));
    },
    metrics,
  });
  const offers = createOfferCommand({
    homes: stores.warmHomes,
    containers,
    workerId,
    offerMs,
    later,
    metrics,
  });
  const deadWorkers = createDeadWorkers({ leases: stores.leases });
  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const renewLease = async () => {
    try {
      await stores.leases.heartbeat({
        workerId,
        engineId: engine.engineId,
        leaseMs: config.worker.leaseMs,
        status: {
          host: hostname(),
          pools: config.worker.pools,
          concurrency: config.worker.concurrency,
          running: active.size,
          warmContainers: containers.waiting(),
          isDraining: draining.signal.aborted,
        },
      });
      deadWorkers.renewed();
    } catch (error) {
      deadWorkers.notRenewed();
      throw error;
    }
  };
  const duty = createDutyFactory(foundation, log);
  const heartbeat = duty("heartbeat", config.worker.heartbeatMs, renewLease);
  const sweep = duty(
    "sweep",
    config.worker.sweepMs,
    createSweepContainers({
      runtime,
      deadWorkers,
      heldHere: () => new Set([...active.containerIds(), ...cold.containerIds()]),
      present: cold.present,
      workerId,
      creationGraceMs: creationGraceMs(config),
      clock,
      log,
      metrics,
    }),
  );
  const keepWarm = duty("keep-warm", KEEP_WARM_MS, async () => containers.review());
  const recovery = createRecoveryDuties(foundation, {
    deadWorkers,
    engine: { engineId: engine.engineId, runtime },
    workerId,
    log,
    duty,
  });
  const workspaceWatch = createWorkspaceWatch({
    measure: measureWorkspace,
    limits: { bytes: config.limits.workspaceBytes, inodes: config.limits.workspaceInodes },
    later,
    clock,
    log,
    metrics,
  });
  const execute = createExecuteCommand({
    commands,
    recheck: createRecheckCommand({
      decider,
      bind: createBindRequest({ workspaces }),
      sessions: stores.sessions,
      workspaces,
      repositoryFacts: readRepositoryFacts,
      fullWorkspaces: workspaceWatch,
      environment: config.environment,
      clock,
      graceMs: config.limits.graceMs,
    }),
    containers,
    offer: offers.offer,
    active,
    workspaces: workspaceWatch,
    held: createHeldCommands({ commands, log, metrics, pause, givesUp: () => isGivingUp }),
    limits: config.limits,
    workerId,
    claimToSendMs: claimToSendMs(config),
    clock,
    ids,
    log,
    metrics,
    tracer,
    pause,
    draining: draining.signal,
    givesUp: () => isGivingUp,
  });

  const takeOffers = createTakeOffers({
    homes: stores.warmHomes,
    containers,
    execute,
    workerId,
    concurrency: config.worker.concurrency,
    draining: draining.signal,
    log,
    metrics,
  });

  // The lease stands before the first claim can ask for it.
  await renewLease();
  const endCancels = await stores.cancels.subscribe((commandId) => active.cancel(commandId));
  const consumers = config.worker.pools.map((pool) =>
    createBullmqQueueConsumer({
      endpoint: foundation.redisEndpoint,
      deployment: config.deployment,
      pool,
      concurrency: config.worker.concurrency,
      lockMs: config.worker.queueLockMs,
      log,
      metrics,
    }),
  );
  for (const each of [heartbeat, sweep, keepWarm, ...recovery]) each.start();
  const endOffers = stores.warmHomes.listen(workerId, {
    offered: takeOffers.offered,
    answered: offers.answered,
  });
  for (const consumer of consumers) await consumer.start(takeOffers.fromQueue);
  log.info({ pools: config.worker.pools, concurrency: config.worker.concurrency }, "worker takes commands");

  return {
    workerId,
    checks: {
      worker: async () =>
        consumers.every((consumer) => consumer.isFetching()) ? null : "the worker fetches nothing",
    },
    async stop(reason) {
      log.info({ reason, running: active.size }, "worker takes no more commands");
      draining.abort();
      // Told at once, so that nobody counts on it; where that fails the next renewal tells it.
      renewLease().catch(() => undefined);
      const { shutdownGraceMs } = config.worker;
      const patienceMs = Math.max(0, shutdownGraceMs - config.limits.graceMs - RECORD_MARGIN_MS);
      const ender = setTimeout(() => active.cancelAll("shutdown"), patienceMs);
      const lastMoment = setTimeout(() => {
        isGivingUp = true;
      }, shutdownGraceMs);
      await within(shutdownGraceMs + TIDY_LIMIT_MS, () =>
        Promise.all([...consumers.map((consumer) => consumer.drain()), takeOffers.settled()]),
      );
      clearTimeout(ender);
      clearTimeout(lastMoment);
      endOffers();
      await endCancels();
      await within(TIDY_LIMIT_MS, () =>
        Promise.all([...[sweep, keepWarm, ...recovery].map((each) => each.stop()), containers.settled()]),
      );
      await heartbeat.stop();
      // Without Redis the lease ends by itself.
      await stores.leases.leave(workerId).catch(() => undefined);
      await Promise.all(consumers.map((consumer) => consumer.close()));
      await within(1_000, () => runtime.close());
    },
  };
}

/** Waits for work, but not longer than that; what is not done then is left behind. */
async function within(limitMs: number, work: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work(), late]);
  clearTimeout(timer);
}
