import type { Principal } from "../ports/authenticator.js";
import type { CommandQueue, PoolDepth } from "../ports/command-queue.js";
import type { CommandStore, LeaseStore, SeenWorker } from "../ports/command-store.js";
import { requireScope } from "./access.js";

/** Workers, queues and commands of the whole deployment at one moment. */
export interface Fleet {
  readonly workers: readonly SeenWorker[];
  /** By pool; `workers` is how many take from it now. */
  readonly queues: readonly (PoolDepth & { readonly workers: number })[];
  readonly commands: Awaited<ReturnType<CommandStore["counts"]>>;
}

/** Looking at workers and queues. */
export interface FleetServices {
  /** Every worker and queue of the deployment; needs the scope `admin`. */
  workers(principal: Principal): Promise<Fleet>;
}

/** A deployment with more workers or pools than this shows the first of them. */
const WORKERS_SHOWN = 1_000;
const POOLS_SHOWN = 1_000;

/** Use cases on workers and queues. Whatever their number is, they ask Redis the same few times. */
export function createWorkerServices(deps: {
  readonly leases: Pick<LeaseStore, "workers">;
  readonly commands: Pick<CommandStore, "counts">;
  readonly queue: Pick<CommandQueue, "depths">;
  /** The pools that profiles name: those are shown also where no worker serves them. */
  readonly pools: () => readonly string[];
}): FleetServices {
  return {
    async workers(principal) {
      requireScope(principal, "admin");
      const workers = await deps.leases.workers(WORKERS_SHOWN);
      const taking = workers.filter(({ holdsLease, status }) => holdsLease && !status.isDraining);
      const pools = [...new Set([...deps.pools(), ...workers.flatMap(({ status }) => status.pools)])];
      const depths = await deps.queue.depths(pools.sort().slice(0, POOLS_SHOWN));
      const queues = depths.map((depth) => ({
        ...depth,
        workers: taking.filter(({ status }) => status.pools.includes(depth.pool)).length,
      }));
      return { workers, queues, commands: await deps.commands.counts() };
    },
  };
}
