import type { LeaseStore } from "../../ports/command-store.js";

/**
 * Renewals of one's own over which a peer must have held no lease. At three, at least one whole interval lies between
 * the first and the last, in which a living peer would have renewed.
 */
const RENEWALS_TO_CONFIRM = 3;

/** Which workers are dead, by more than one look. A lease that is missing at one moment may have been lost with the store. */
export interface DeadWorkers {
  /** To be called after each renewal of this process's own lease: the measure of time. */
  renewed(): void;
  /** To be called when a renewal failed: with the store away every lease runs out, so every count begins again. */
  notRenewed(): void;
  isDead(workerId: string): Promise<boolean>;
}

/** Counts in renewals and not in time, so that a process that was suspended itself condemns nobody when it goes on. */
export function createDeadWorkers(deps: { readonly leases: LeaseStore }): DeadWorkers {
  let renewals = 0;
  const missingSince = new Map<string, number>();
  return {
    renewed() {
      renewals += 1;
    },
    notRenewed() {
      missingSince.clear();
    },
    async isDead(workerId) {
      if (await deps.leases.isAlive(workerId)) {
        missingSince.delete(workerId);
        return false;
      }
      const since = missingSince.get(workerId) ?? renewals;
      missingSince.set(workerId, since);
      return renewals - since >= RENEWALS_TO_CONFIRM;
    },
  };
}
