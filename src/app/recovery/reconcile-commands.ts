import type { CommandRecord } from "../../domain/command.js";
import { lost } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandQueue } from "../../ports/command-queue.js";
import type { LeaseStore, Orphan } from "../../ports/command-store.js";
import type { ContainerRuntime } from "../../ports/container-runtime.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { DeadWorkers } from "./dead-workers.js";

const BATCH = 100;
/** Removals asked of the engine at one time. */
const REMOVALS_AT_ONCE = 8;
/** A queued record this old without an envelope is not about to get one from its API process. */
const UNQUEUED_AFTER_MS = 10_000;
/** A worker that could not reach Redis may still have the end of an overdue command, and gets so long beyond the command's own time to write it. */
const OVERDUE_SEEN_MS = 60_000;

/** The engine a process can remove containers on. */
export interface OwnEngine {
  readonly engineId: string;
  readonly runtime: Pick<ContainerRuntime, "remove">;
}

/**
 * Ends what a dead worker had dispatched, and queues again what was only queued.
 *
 * `lost` is said only when nothing of the command can still act: the one container that could have its argv has been
 * removed from this engine; or, where no live worker uses that engine or it does not do as it is told, the command's own
 * time is over, which bailiff-init enforces by itself. A worker that lives ends its own, but for those that it was to have
 * ended long ago: Redis took its word for them and lost it, in a failover to a replica that did not have it.
 */
export function createReconcileCommands(deps: {
  readonly leases: LeaseStore;
  readonly deadWorkers: DeadWorkers;
  readonly queue: CommandQueue;
  /** Null in a process without an engine: it ends only what is past its time. */
  readonly engine: OwnEngine | null;
  /** Commands of this worker are its own to end; null in a process that is none. */
  readonly workerId: string | null;
  /** After a dispatch argv may be sent this late. */
  readonly claimToSendMs: number;
  readonly graceMs: number;
  /** Longer than any command is dispatched. */
  readonly overdueMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): () => Promise<{ lost: number; requeued: number }> {
  /** The whole time that a dispatched command may take. */
  const ownTimeMs = ({ record }: Orphan): number =>
    deps.claimToSendMs + record.request.timeoutMs + 2 * deps.graceMs;
  const isPastItsTime = (orphan: Orphan): boolean => orphan.dispatchedForMs > ownTimeMs(orphan);

  /** Since when each overdue command has been seen here in every round. */
  let overdueSince = new Map<string, number>();
  const seeOverdue = (orphans: readonly Orphan[]): void => {
    const nowMs = deps.clock.nowMs();
    const overdue = orphans.filter(({ isOverdue }) => isOverdue).map(({ record }) => record.id);
    overdueSince = new Map(overdue.map((id) => [id, overdueSince.get(id) ?? nowMs]));
  };
  /**
   * Seen for as long as the command could take: a suspended machine or a step of Redis's clock makes all that runs overdue at
   * once, and what it waits for has its whole time left then.
   */
  const isGivenUp = (orphan: Orphan): boolean =>
    isPastItsTime(orphan) &&
    deps.clock.nowMs() - (overdueSince.get(orphan.record.id) ?? Number.POSITIVE_INFINITY) >=
      ownTimeMs(orphan) + OVERDUE_SEEN_MS;

  /** Whether it is left to its worker. */
  const hasOwner = async (orphan: Orphan): Promise<boolean> => {
    if (orphan.isOverdue) return !isGivenUp(orphan);
    const { workerId } = orphan.record;
    return workerId === deps.workerId || (workerId !== null && !(await deps.deadWorkers.isDead(workerId)));
  };

  const isStopped = async (orphan: Orphan, liveEngines: ReadonlySet<string>): Promise<boolean> => {
    const { record, engineId } = orphan;
    if (deps.engine !== null && engineId === deps.engine.engineId) {
      if (record.containerId === null) return isPastItsTime(orphan);
      try {
        await deps.engine.runtime.remove(record.containerId);
        return true;
      } catch (error) {
        deps.metrics.count("bailiff_container_removal_failures_total");
        deps.log.warn(
          { command_id: record.id, container_id: record.containerId, err: error },
          "the container of an orphaned command could not be removed yet",
        );
        return isPastItsTime(orphan);
      }
    }
    // Workers beside that engine can do better than wait.
    return !(engineId !== null && liveEngines.has(engineId)) && isPastItsTime(orphan);
  };

  const endOne = async (orphan: Orphan, liveEngines: ReadonlySet<string>): Promise<boolean> => {
    const { record } = orphan;
    if (await hasOwner(orphan)) return false;
    if (!(await isStopped(orphan, liveEngines))) return false;
    const why = orphan.isOverdue
      ? "what its worker wrote of the end was lost"
      : "the worker that ran it is gone";
    const result = unstartedResult(lost(`${why} and nothing proves the end`));
    // A worker that lives again after all keeps what is not overdue.
    const overdueMs = orphan.isOverdue ? deps.overdueMs : undefined;
    if (!(await deps.leases.declareLost(record.id, record.fence ?? "", result, overdueMs))) return false;
    deps.metrics.count("bailiff_commands_lost_total");
    deps.metrics.count("bailiff_commands_finished_total", { outcome: "lost", effect: "unknown" });
    deps.log.error({ command_id: record.id, worker_id: record.workerId }, `command lost: ${why}`);
    return true;
  };

  const endLost = async (): Promise<number> => {
    const liveEngines = await deps.leases.liveEngines();
    const orphans = [...(await deps.leases.orphaned(BATCH, deps.overdueMs))];
    seeOverdue(orphans);
    let ended = 0;
    // A worker's death leaves many at once, and an engine that is slow to remove one must not hold up the rest.
    const takeNext = async (): Promise<void> => {
      for (let orphan = orphans.shift(); orphan !== undefined; orphan = orphans.shift()) {
        try {
          if (await endOne(orphan, liveEngines)) ended += 1;
        } catch (error) {
          const commandId = orphan.record.id;
          deps.log.warn({ command_id: commandId, err: error }, "an orphaned command could not be ended yet");
        }
      }
    };
    await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, takeNext));
    return ended;
  };

  const requeueOne = async (record: CommandRecord): Promise<void> => {
    await deps.queue.enqueue(record.pool, { commandId: record.id, priority: 1 });
    deps.metrics.count("bailiff_commands_requeued_total");
    deps.log.warn({ command_id: record.id }, "a queued command had no entry in the queue; queued again");
  };

  const requeue = async (): Promise<number> => {
    const records = await deps.leases.unqueued(UNQUEUED_AFTER_MS, BATCH);
    for (const record of records) await requeueOne(record);
    return records.length;
  };

  return async () => {
    // What waits only for an entry must not wait for an engine's removals.
    const requeued = await requeue();
    return { lost: await endLost(), requeued };
  };
}
