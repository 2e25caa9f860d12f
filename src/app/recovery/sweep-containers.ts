import type { Clock } from "../../ports/clock.js";
import type { ContainerListing, ContainerRuntime } from "../../ports/container-runtime.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { DeadWorkers } from "./dead-workers.js";

/**
 * Removes containers that nobody holds: a dead worker's, created-never-started leftovers, own ones whose removal failed.
 * Never a live peer's, never another deployment's (the runtime lists only this deployment's).
 * Whether a dead worker's container ran a command makes no difference here: removing it is what the verdict waits for.
 */
export function createSweepContainers(deps: {
  readonly runtime: ContainerRuntime;
  readonly deadWorkers: DeadWorkers;
  readonly heldHere: () => ReadonlySet<string>;
  /** Told what the engine still has at the end of a round. */
  readonly present: (containerIds: ReadonlySet<string>) => void;
  readonly workerId: string;
  /** A container younger than this may belong to a call that is still under way. */
  readonly creationGraceMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): () => Promise<number> {
  const isAbandoned = async (container: ContainerListing, nowMs: number): Promise<boolean> => {
    const isYoung = nowMs - container.createdAtMs <= deps.creationGraceMs;
    if (container.workerId === deps.workerId) {
      return !deps.heldHere().has(container.containerId) && !isYoung;
    }
    // A worker tries its engine before it holds its first lease.
    if (container.isProbe && isYoung) return false;
    return container.workerId === null || deps.deadWorkers.isDead(container.workerId);
  };

  return async () => {
    let removed = 0;
    const listed = await deps.runtime.list();
    const present = new Set(listed.map(({ containerId }) => containerId));
    for (const container of listed) {
      if (!(await isAbandoned(container, deps.clock.nowMs()))) continue;
      try {
        await deps.runtime.remove(container.containerId);
        removed += 1;
        present.delete(container.containerId);
        deps.metrics.count("bailiff_containers_swept_total");
        deps.log.warn(
          {
            container_id: container.containerId,
            worker_id: container.workerId,
            command_id: container.commandId,
          },
          "removed a container nobody holds",
        );
      } catch (error) {
        deps.metrics.count("bailiff_container_removal_failures_total");
        deps.log.warn(
          { container_id: container.containerId, err: error },
          "a container nobody holds could not be removed",
        );
      }
    }
    deps.present(present);
    return removed;
  };
}
