import type { CommandQueue } from "../ports/command-queue.js";

/** How many entries of a pool's queue are in a state. */
export interface QueueEntries {
  readonly labels: { readonly pool: string; readonly state: "waiting" | "prioritized" | "active" };
  readonly value: number;
}

/**
 * Counts what waits and what is active, for each pool that a profile names. The sum over states is the work of a pool: as
 * all commands have a priority, `waiting` alone is nearly always 0, and without `active` busy workers would seem idle.
 */
export function createReadQueueEntries(deps: {
  readonly queue: Pick<CommandQueue, "depths">;
  /** Closed: the policy's, never a caller's. */
  readonly pools: () => readonly string[];
}): () => Promise<readonly QueueEntries[]> {
  return async () => {
    const depths = await deps.queue.depths([...new Set(deps.pools())]);
    return depths.flatMap(({ pool, waiting, prioritized, active }) => [
      { labels: { pool, state: "waiting" }, value: waiting },
      { labels: { pool, state: "prioritized" }, value: prioritized },
      { labels: { pool, state: "active" }, value: active },
    ]);
  };
}
