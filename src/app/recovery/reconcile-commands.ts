import type { CommandRecord } from "../../domain/command.js";
import { lost } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandQueue } from "../../ports/command-queue.js";
import type { CommandStore, LeaseStore } from "../../ports/command-store.js";
import type { ContainerRuntime } from "../../ports/container-runtime.js";
import type { Log, Metrics } from "../../ports/telemetry.js";

const BATCH = 100;
/** A queued record this old without an envelope is not about to get one from its API process. */
const UNQUEUED_AFTER_MS = 10_000;

/**
 * Ends what a dead worker had dispatched, and queues again what was only queued.
 *
 * `lost` is said only when nothing of the command can still act: on this engine its container was found and removed
 * (or is not there); for another engine, no live worker uses it any more and the command's own deadline, which
 * bailiff-init enforces by itself, is over.
 */
export function createReconcileCommands(deps: {
  readonly commands: CommandStore;
  readonly leases: LeaseStore;
  readonly queue: CommandQueue;
  readonly runtime: ContainerRuntime;
  readonly engineId: string;
  readonly graceMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): () => Promise<{ lost: number; requeued: number }> {
  const isStopped = async (
    record: CommandRecord,
    engineId: string | null,
    liveEngines: ReadonlySet<string>,
  ): Promise<boolean> => {
    if (engineId === deps.engineId) {
      const containers = (await deps.runtime.list()).filter(
        (each) => each.containerId === record.containerId || each.commandId === record.id,
      );
      for (const container of containers) await deps.runtime.remove(container.containerId);
      return true;
    }
    if (engineId !== null && liveEngines.has(engineId)) return false;
    const overAtMs = (record.dispatchedAtMs ?? 0) + record.request.timeoutMs + 2 * deps.graceMs;
    return deps.clock.nowMs() > overAtMs;
  };

  const endLost = async (): Promise<number> => {
    let ended = 0;
    const liveEngines = await deps.leases.liveEngines(deps.clock.nowMs());
    for (const { record, engineId } of await deps.leases.orphaned(deps.clock.nowMs(), BATCH)) {
      try {
        if (!(await isStopped(record, engineId, liveEngines))) continue;
        const result = unstartedResult(lost("the worker that ran it is gone and nothing proves the end"));
        if (!(await deps.leases.declareLost(record.id, record.fence ?? "", result, deps.clock.nowMs())))
          continue;
        ended += 1;
        deps.metrics.count("bailiff_commands_lost_total");
        deps.metrics.count("bailiff_commands_finished_total", { outcome: "lost", effect: "unknown" });
        deps.log.error(
          { command_id: record.id, worker_id: record.workerId },
          "command lost: its worker is gone",
        );
      } catch (error) {
        deps.log.warn({ command_id: record.id, err: error }, "an orphaned command could not be ended yet");
      }
    }
    return ended;
  };

  const requeue = async (): Promise<number> => {
    const records = await deps.leases.unqueued(deps.clock.nowMs(), UNQUEUED_AFTER_MS, BATCH);
    for (const record of records) {
      await deps.queue.enqueue(record.pool, { commandId: record.id, priority: 1, traceparent: null });
      deps.metrics.count("bailiff_commands_requeued_total");
      deps.log.warn({ command_id: record.id }, "a queued command had no entry in the queue; queued again");
    }
    return records.length;
  };

  return async () => ({ lost: await endLost(), requeued: await requeue() });
}
