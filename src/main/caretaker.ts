import { createExpireApprovals } from "../app/approvals/expire-approvals.js";
import { createPeriodic } from "../app/periodic.js";
import { createDeadWorkers } from "../app/recovery/dead-workers.js";
import { createReconcileCommands } from "../app/recovery/reconcile-commands.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";
import { claimToSendMs } from "./worker.js";

/**
 * The reconciler of a process that has no engine: where the last worker died, its commands still get an end, once their own
 * time is over, and what waits still has its entry in the queue.
 */
export function startCaretaker(foundation: Foundation): RunningProcess {
  const { config, log, metrics, stores } = foundation;
  const deadWorkers = createDeadWorkers({ leases: stores.leases });
  const duty = (name: string, intervalMs: number, work: () => Promise<unknown>) =>
    createPeriodic({ name, intervalMs, log, metrics, work });
  // In place of a lease of its own: the same rhythm, and the same silence while Redis is away.
  const pulse = duty("pulse", config.worker.heartbeatMs, async () => {
    if (await stores.isAnswering()) deadWorkers.renewed();
    else deadWorkers.notRenewed();
  });
  const reconcile = duty(
    "reconcile",
    config.worker.reconcileMs,
    createReconcileCommands({
      leases: stores.leases,
      deadWorkers,
      queue: stores.queue,
      engine: null,
      workerId: null,
      claimToSendMs: claimToSendMs(config),
      graceMs: config.limits.graceMs,
      log,
      metrics,
    }),
  );
  const expireApprovals = duty(
    "expire-approvals",
    config.worker.reconcileMs,
    createExpireApprovals({ approvals: stores.approvals, log, metrics }),
  );
  pulse.start();
  reconcile.start();
  expireApprovals.start();
  return {
    async stop() {
      await Promise.all([pulse.stop(), reconcile.stop(), expireApprovals.stop()]);
    },
  };
}
