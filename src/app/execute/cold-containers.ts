import type { ContainerPurpose, ContainerRuntime, ReadyContainer } from "../../ports/container-runtime.js";
import { RuntimeFault } from "../../ports/container-runtime.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { ContainerLease } from "./execute-command.js";
import { createStartGate } from "./start-gate.js";

/** A lease without a pool: each container is made when it is asked for. */
export interface ColdContainers extends ContainerLease {
  /** Makes one for later, or answers null while commands need the engine. Its end is `dispose`, like any other's. */
  makeAhead(purpose: ContainerPurpose, signal: AbortSignal): Promise<ReadyContainer> | null;
  /** How many commands wait for a container that is being made for them. */
  askedFor(): number;
  /** Removes and says when that is over, done or given up to the sweeper; never rejects. */
  remove(container: ReadyContainer): Promise<void>;
  /** Resolves when every container made so far, handed out or given up, is removed or left to the sweeper. */
  settled(): Promise<void>;
  /** Containers that are leased or still being removed: the sweeper leaves them alone. */
  containerIds(): ReadonlySet<string>;
  /** What the engine did not confirm to be removed: how many containers, and their memory limits together. */
  unremoved(): { readonly containers: number; readonly memoryBytes: number };
  /** Told by the sweeper which containers the engine still has. */
  present(containerIds: ReadonlySet<string>): void;
}

/**
 * Builds a cold lease over the runtime. An engine asked for many containers at once makes each of them slower and none
 * of them sooner, until all miss their deadlines; so at most `startsAtOnce` are being made, at most half of them ahead. The
 * others wait here, where no deadline of the engine runs, and where a tenant with many makes no other wait for all of them.
 */
export function createColdContainers(deps: {
  readonly runtime: ContainerRuntime;
  readonly startsAtOnce: number;
  readonly log: Log;
  readonly metrics: Metrics;
}): ColdContainers {
  const held = new Set<string>();
  const removals = new Map<ReadyContainer, Promise<void>>();
  const unremoved = new Map<string, number>();
  const gate = createStartGate(deps.startsAtOnce);
  const aheadAtOnce = Math.max(1, Math.floor(deps.startsAtOnce / 2));
  let ahead = 0;
  let asked = 0;

  const make = async (
    purpose: ContainerPurpose,
    signal: AbortSignal,
    leave: () => void,
  ): Promise<ReadyContainer> => {
    try {
      const container = await deps.runtime.prepare(purpose, signal);
      held.add(container.containerId);
      return container;
    } finally {
      leave();
    }
  };

  const remove = (container: ReadyContainer): Promise<void> => {
    const underWay = removals.get(container);
    if (underWay !== undefined) return underWay;
    if (!held.has(container.containerId)) return Promise.resolve();
    const removal = container
      .destroy()
      .catch((error: unknown) => {
        unremoved.set(container.containerId, container.purpose.profile.limits.memoryBytes);
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
    return removal;
  };

  return {
    async acquire(purpose, signal) {
      asked += 1;
      try {
        const leave = await gate.enter(purpose.tenant, signal).catch((cause: unknown) => {
          throw new RuntimeFault(
            "deadline",
            "create",
            "create: the engine is busy with other containers",
            cause,
          );
        });
        return await make(purpose, signal, leave);
      } finally {
        asked -= 1;
      }
    },
    makeAhead(purpose, signal) {
      if (ahead >= aheadAtOnce) return null;
      const leave = gate.tryEnter();
      if (leave === null) return null;
      ahead += 1;
      return make(purpose, signal, () => {
        ahead -= 1;
        leave();
      });
    },
    askedFor: () => asked,
    remove,
    dispose: (container) => void remove(container),
    async settled() {
      await Promise.all([...removals.values(), deps.runtime.settled()]);
    },
    containerIds: () => held,
    unremoved() {
      let memoryBytes = 0;
      for (const bytes of unremoved.values()) memoryBytes += bytes;
      return { containers: unremoved.size, memoryBytes };
    },
    present(containerIds) {
      for (const id of unremoved.keys()) if (!containerIds.has(id)) unremoved.delete(id);
    },
  };
}
