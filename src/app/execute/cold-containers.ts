import type { ContainerPurpose, ContainerRuntime, ReadyContainer } from "../../ports/container-runtime.js";
import { RuntimeFault } from "../../ports/container-runtime.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { ContainerLease } from "./execute-command.js";
import { createStartGate } from "./start-gate.js";

/** A lease without a pool: each container is made when it is asked for. */
export interface ColdContainers extends ContainerLease {
  /** Resolves when every container handed out so far is removed or given up to the sweeper. */
  settled(): Promise<void>;
  /** Containers that are leased or still being removed: the sweeper leaves them alone. */
  containerIds(): ReadonlySet<string>;
}

/**
 * Builds a cold lease over the runtime. An engine asked for many containers at once makes each of them slower and none
 * of them sooner, until all miss their deadlines; so at most `startsAtOnce` are being made, and the others wait here,
 * where no deadline of the engine runs.
 */
export function createColdContainers(deps: {
  readonly runtime: ContainerRuntime;
  readonly startsAtOnce: number;
  readonly log: Log;
  readonly metrics: Metrics;
}): ColdContainers {
  const held = new Set<string>();
  const removals = new Map<ReadyContainer, Promise<void>>();
  const gate = createStartGate(deps.startsAtOnce);

  const make = async (purpose: ContainerPurpose, signal: AbortSignal): Promise<ReadyContainer> => {
    const leave = await gate.enter(signal).catch((cause: unknown) => {
      throw new RuntimeFault("deadline", "create", "create: the engine is busy with other containers", cause);
    });
    try {
      return await deps.runtime.prepare(purpose, signal);
    } finally {
      leave();
    }
  };

  return {
    async acquire(purpose, signal) {
      const container = await make(purpose, signal);
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
