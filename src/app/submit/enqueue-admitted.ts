import type { CommandRecord } from "../../domain/command.js";
import type { CommandQueue } from "../../ports/command-queue.js";
import type { Log, Metrics } from "../../ports/telemetry.js";

/** Puts a command whose record is `queued` into its pool's queue; never rejects. */
export type EnqueueAdmitted = (record: CommandRecord, priority: number) => Promise<void>;

/** A lost enqueue loses nothing: the record is the truth and the reconciler queues it again. */
export function createEnqueueAdmitted(deps: {
  readonly queue: CommandQueue;
  readonly log: Log;
  readonly metrics: Metrics;
}): EnqueueAdmitted {
  return async (record, priority) => {
    try {
      await deps.queue.enqueue(record.pool, { commandId: record.id, priority });
    } catch (error) {
      deps.metrics.count("bailiff_enqueue_failures_total");
      deps.log.warn({ command_id: record.id, err: error }, "admitted but not enqueued; the reconciler will");
    }
  };
}
