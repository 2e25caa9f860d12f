import type { ContainerRuntime, ReadyContainer } from "../../ports/container-runtime.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { ContainerLease } from "./execute-command.js";

/** A lease without a pool: each container is made when it is asked for. */
export interface ColdContainers extends ContainerLease {
  /** Resolves when every container handed out so far is removed or given up to the sweeper. */
  settled(): Promise<void>;
  /** Containers that are leased or still being removed: the sweeper leaves them alone. */
  containerIds(): ReadonlySet<string>;
}

/** Builds a cold lease over the runtime. */
export function createColdContainers(deps: {
  readonly runtime: ContainerRuntime;
  readonly log: Log;
  readonly metrics: Metrics;
}): ColdContainers {
  const held = new Set<string>();
  const removals = new Map<ReadyContainer, Promise<void>>();

  return {
    async acquire(purpose, signal) {
      const container = await deps.runtime.prepare(purpose, signal);
      held.add(container.containerId);
      return container;
    },
    dispose(container) {
      if (removals.has(container) || !held.has(container.containerId)) return;
      const removal = container
        .destroy()
        .catch((error: unknown) => {
          deps.metrics.count("bailiff_container_removal_failures_total");
          deps.log.warn(
            { container_id: container.containerId, err: error },
            "removal failed; left to the sweeper",
          );
        })
        .finally(() => {
          removals.delete(container);
          held.delete(container.containerId);
        });
      removals.set(container, removal);
    },
    async settled() {
      await Promise.all(removals.values());
    },
    containerIds: () => held,
  };
}
