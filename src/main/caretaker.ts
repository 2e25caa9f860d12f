import { createDeadWorkers } from "../app/recovery/dead-workers.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";
import { createDutyFactory, createRecoveryDuties } from "./recovery-duties.js";

/**
 * The reconciler of a process that has no engine: where the last worker died, its commands still get an end, once their own
 * time is over, and what waits still has its entry in the queue.
 */
export function startCaretaker(foundation: Foundation): RunningProcess {
  const { config, log, stores } = foundation;
  const deadWorkers = createDeadWorkers({ leases: stores.leases });
  const duty = createDutyFactory(foundation, log);
  // In place of a lease of its own: the same rhythm, and the same silence while Redis is away.
  const pulse = duty("pulse", config.worker.heartbeatMs, async () => {
    if (await stores.isAnswering()) deadWorkers.renewed();
    else deadWorkers.notRenewed();
  });
  const duties = [
    pulse,
    ...createRecoveryDuties(foundation, { deadWorkers, engine: null, workerId: null, log, duty }),
  ];
  for (const each of duties) each.start();
  return {
    async stop() {
      await Promise.all(duties.map((each) => each.stop()));
    },
  };
}
