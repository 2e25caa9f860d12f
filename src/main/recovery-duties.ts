import { createExpireApprovals } from "../app/approvals/expire-approvals.js";
import { longestContainerMs } from "../app/execute/recheck-command.js";
import { createPeriodic, type Periodic } from "../app/periodic.js";
import type { DeadWorkers } from "../app/recovery/dead-workers.js";
import { createReconcileCommands } from "../app/recovery/reconcile-commands.js";
import type { Config } from "../config/config.js";
import type { ContainerRuntime } from "../ports/container-runtime.js";
import type { Log } from "../ports/telemetry.js";
import type { Foundation } from "./foundation.js";

/** Makes the periodic duties of one process. */
export type CreateDuty = (name: string, intervalMs: number, work: () => Promise<unknown>) => Periodic;

/** Duties that log and count for a process. */
export function createDutyFactory({ metrics }: Pick<Foundation, "metrics">, log: Log): CreateDuty {
  return (name, intervalMs, work) => createPeriodic({ name, intervalMs, log, metrics, work });
}

/**
 * Between a claim and its argv. A fifth of the lease: the reconciler's wait is longer by a whole lease, and a claim that
 * took this long belongs to a process that may have stood still.
 */
export function claimToSendMs(config: Config): number {
  return Math.floor(config.worker.leaseMs / 5);
}

/** A deployment in which nothing ends any more has to forget as well. */
const TRIM_MS = 60_000;

/**
 * What every process does for commands that nobody else looks after: ends the orphaned, queues the forgotten, expires approvals,
 * takes what is forgotten out of the listings.
 */
export function createRecoveryDuties(
  { config, clock, metrics, stores }: Foundation,
  own: {
    readonly deadWorkers: DeadWorkers;
    /** Null in a process without an engine. */
    readonly engine: { readonly engineId: string; readonly runtime: ContainerRuntime } | null;
    readonly workerId: string | null;
    readonly log: Log;
    readonly duty: CreateDuty;
  },
): readonly Periodic[] {
  const { deadWorkers, engine, workerId, log, duty } = own;
  return [
    duty(
      "reconcile",
      config.worker.reconcileMs,
      createReconcileCommands({
        leases: stores.leases,
        deadWorkers,
        queue: stores.queue,
        engine,
        workerId,
        claimToSendMs: claimToSendMs(config),
        graceMs: config.limits.graceMs,
        overdueMs: claimToSendMs(config) + longestContainerMs(config.limits) + config.limits.graceMs,
        clock,
        log,
        metrics,
      }),
    ),
    duty(
      "expire-approvals",
      config.worker.reconcileMs,
      createExpireApprovals({ approvals: stores.approvals, log, metrics }),
    ),
    duty("trim-listings", TRIM_MS, () => stores.commands.trim()),
  ];
}
