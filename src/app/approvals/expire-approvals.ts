import type { ApprovalStore } from "../../ports/approval-store.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";

const BATCH = 200;

/** Ends commands whose approval was not given, or not used, in time. Safe in several processes at once. */
export function createExpireApprovals(deps: {
  readonly approvals: ApprovalStore;
  readonly log: Log;
  readonly metrics: Metrics;
}): () => Promise<number> {
  /** One that can't be ended, as a newer version wrote it, must not keep the others from their ends. */
  const expire = async (commandId: string): Promise<boolean> => {
    try {
      return await deps.approvals.expire(commandId);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      deps.log.warn({ command_id: commandId, err: error }, "an approval could not be ended");
      return false;
    }
  };

  return async () => {
    let expired = 0;
    for (;;) {
      const due = await deps.approvals.due(BATCH);
      let ended = 0;
      for (const commandId of due) {
        if (!(await expire(commandId))) continue;
        ended += 1;
        deps.metrics.count("bailiff_commands_finished_total", {
          outcome: "approval_expired",
          effect: "none",
        });
        deps.log.info({ command_id: commandId }, "approval expired");
      }
      expired += ended;
      // What is due but can't be ended has no record any more; the next round must not begin with it for ever.
      if (due.length < BATCH || ended === 0) return expired;
    }
  };
}
