/** The demand for one kind of container as commands come; decays by itself. */
export interface DemandTrack {
  readonly weight: number;
  readonly burst: number;
  /** When `weight` and `burst` were true. */
  readonly atMs: number;
  readonly lastMs: number;
  /** When the last commands came, oldest first. */
  readonly recentMs: readonly number[];
}

/** What is left of a demand after this long is half of it. */
const HALF_LIFE_MS = 60_000;
/** No burst counts higher; bounds what is kept of each kind. */
const BURST_MAX = 64;

function left(atMs: number, nowMs: number): number {
  return 0.5 ** (Math.max(0, nowMs - atMs) / HALF_LIFE_MS);
}

/** The demand after one more command. `startMs` is how long a container's start takes: commands so close need one each. */
export function withCommand(track: DemandTrack | null, nowMs: number, startMs: number): DemandTrack {
  const before = track ?? { weight: 0, burst: 0, atMs: nowMs, lastMs: nowMs, recentMs: [] };
  const decay = left(before.atMs, nowMs);
  const recentMs = [...before.recentMs.filter((at) => nowMs - at < startMs), nowMs].slice(-BURST_MAX);
  return {
    weight: before.weight * decay + 1,
    burst: Math.max(before.burst * decay, recentMs.length),
    atMs: nowMs,
    lastMs: nowMs,
    recentMs,
  };
}

/** The demand at a later moment. */
export function demandAt(
  track: DemandTrack,
  nowMs: number,
): { readonly weight: number; readonly burst: number; readonly idleForMs: number } {
  const decay = left(track.atMs, nowMs);
  return {
    weight: track.weight * decay,
    burst: track.burst * decay,
    idleForMs: Math.max(0, nowMs - track.lastMs),
  };
}
