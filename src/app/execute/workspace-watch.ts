import {
  measureBound,
  outgrows,
  refusesCommands,
  type WorkspaceExcess,
  type WorkspaceUse,
} from "../../domain/workspace-growth.js";
import type { Clock } from "../../ports/clock.js";
import type { Log, Metrics } from "../../ports/telemetry.js";

/** Sees to it that commands do not fill the disk by way of their workspaces. */
export interface WorkspaceWatch {
  /** Whether the workspace is so far over its limit that it takes no command. Looked at anew before it is said. */
  refuses(path: string): Promise<WorkspaceExcess | null>;
  /** Looks at the workspace while a command runs in it, and once after; gives what ends the watch. */
  watch(path: string, onExcess: (excess: WorkspaceExcess) => void): () => void;
}

/** From a command's start to the first look, and between two looks. */
const LOOK_MS = 1_000;
/** Looking takes at most one part in this many of the time, however large the workspaces are. */
const SHARE = 5;
/** Workspaces remembered; a forgotten one is merely measured once more. */
const REMEMBERED = 4_096;

interface Watcher {
  /** What was known of the workspace when its command began, or at the first look since. */
  before: WorkspaceUse | null;
  readonly onExcess: (excess: WorkspaceExcess) => void;
}

interface Place {
  readonly watchers: Set<Watcher>;
  last: WorkspaceUse | null;
  lastAtMs: number;
  /** Whether a command may have changed it since the last look began. */
  isStale: boolean;
  measuring: Promise<void> | null;
}

/**
 * Builds a watch without any knowledge. All commands of a workspace are judged by all that is in it. Workspaces are looked at one
 * after the other, and after a round that took long the next is put off, so that large ones slow down the looks and not the worker.
 */
export function createWorkspaceWatch(deps: {
  readonly measure: (path: string, bound: WorkspaceUse) => Promise<WorkspaceUse>;
  readonly limits: WorkspaceUse;
  readonly later: (delayMs: number, work: () => void) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): WorkspaceWatch {
  const places = new Map<string, Place>();
  let isPlanned = false;
  let lookMs = LOOK_MS;

  const placeAt = (path: string): Place => {
    const known = places.get(path);
    const place = known ?? {
      watchers: new Set<Watcher>(),
      last: null,
      lastAtMs: 0,
      isStale: false,
      measuring: null,
    };
    // Put behind the others, so that the one unused for longest is forgotten first.
    places.delete(path);
    places.set(path, place);
    if (places.size > REMEMBERED) {
      for (const [other, { watchers, isStale }] of places) {
        if (watchers.size > 0 || isStale || other === path) continue;
        places.delete(other);
        break;
      }
    }
    return place;
  };

  const measure = async (path: string, place: Place): Promise<void> => {
    // What changes from here on may be missed by this look.
    place.isStale = place.watchers.size > 0;
    try {
      place.last = await deps.measure(path, measureBound(deps.limits));
      place.lastAtMs = deps.clock.nowMs();
    } catch (error) {
      deps.log.warn({ err: error }, "a workspace could not be measured");
      return;
    }
    for (const watcher of place.watchers) {
      const excess = outgrows(watcher.before, place.last, deps.limits);
      if (excess === null) continue;
      place.watchers.delete(watcher);
      deps.metrics.count("bailiff_workspace_excess_total", { limit: excess });
      watcher.onExcess(excess);
    }
    // Whoever began without knowledge is measured against this look from now on.
    for (const watcher of place.watchers) watcher.before ??= place.last;
  };

  const look = (path: string, place: Place): Promise<void> => {
    place.measuring ??= measure(path, place).finally(() => {
      place.measuring = null;
    });
    return place.measuring;
  };

  const round = async (): Promise<void> => {
    const beganMs = deps.clock.nowMs();
    for (const [path, place] of [...places]) {
      if (place.isStale || place.watchers.size > 0) await look(path, place);
    }
    lookMs = Math.max(LOOK_MS, (SHARE - 1) * (deps.clock.nowMs() - beganMs));
    isPlanned = false;
    if ([...places.values()].some(({ isStale }) => isStale)) plan();
  };

  const plan = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    deps.later(lookMs, () => void round());
  };

  return {
    async refuses(path) {
      const place = places.get(path);
      if (place === undefined || refusesCommands(place.last, deps.limits) === null) return null;
      // Somebody may have made room since, by other means than a command.
      if (deps.clock.nowMs() - place.lastAtMs >= lookMs) await look(path, place);
      return refusesCommands(place.last, deps.limits);
    },
    watch(path, onExcess) {
      const place = placeAt(path);
      const watcher: Watcher = { before: place.isStale ? null : place.last, onExcess };
      place.watchers.add(watcher);
      place.isStale = true;
      plan();
      return () => void place.watchers.delete(watcher);
    },
  };
}
