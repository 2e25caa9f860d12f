/** What one kind of warm container is asked for. */
export interface WarmDemand {
  readonly kind: string;
  /** The memory limit of one such container. */
  readonly memoryBytes: number;
  /** Commands of late, the older ones counting less. */
  readonly weight: number;
  /** The most commands that came within one container's start, of late. */
  readonly burst: number;
  /** Since the last command of this kind. */
  readonly idleForMs: number;
  /** Containers that wait or are being made. */
  readonly present: number;
}

/** What all warm containers of one worker may take together. */
export interface WarmRoom {
  readonly containers: number;
  readonly memoryBytes: number;
}

/** A newcomer has to be asked for this many times as much as what it displaces, or two would displace each other for ever. */
const DISPLACING_WEIGHT = 2;

/**
 * How many warm containers of each kind there should be, the most wanted kind first. A kind that is idle gets none; any
 * other gets its first before any gets its second, as long as there is room.
 */
export function planWarm(
  demands: readonly WarmDemand[],
  room: WarmRoom,
  idleMs: number,
): ReadonlyMap<string, number> {
  const places = demands
    .filter((demand) => demand.idleForMs < idleMs)
    .flatMap((demand) => {
      const wanted = Math.min(Math.max(1, Math.round(demand.burst)), Math.max(0, room.containers));
      return Array.from({ length: wanted }, (_, rank) => ({
        demand,
        rank,
        value: (demand.weight / (rank + 1)) * (rank < demand.present ? DISPLACING_WEIGHT : 1),
      }));
    })
    .sort(
      (a, b) =>
        Math.min(a.rank, 1) - Math.min(b.rank, 1) ||
        b.value - a.value ||
        a.rank - b.rank ||
        (a.demand.kind < b.demand.kind ? -1 : 1),
    );
  const plan = new Map<string, number>();
  let { containers, memoryBytes } = room;
  for (const { demand, rank } of places) {
    // Without its first, a kind can't have its second.
    if ((plan.get(demand.kind) ?? 0) !== rank) continue;
    if (containers < 1 || memoryBytes < demand.memoryBytes) continue;
    containers -= 1;
    memoryBytes -= demand.memoryBytes;
    plan.set(demand.kind, rank + 1);
  }
  return plan;
}
