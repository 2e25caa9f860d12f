/** How long each engine call may take, in milliseconds. */
export interface EngineDeadlines {
  readonly pingMs: number;
  readonly infoMs: number;
  readonly createMs: number;
  readonly attachMs: number;
  readonly startMs: number;
  /** From the start's answer to bailiff-init's READY frame. */
  readonly readyMs: number;
  readonly inspectMs: number;
  readonly killMs: number;
  readonly removeMs: number;
  readonly listMs: number;
}

/** Generous for a loaded engine, short beside a caller's patience. */
export const DEFAULT_ENGINE_DEADLINES: EngineDeadlines = {
  pingMs: 5_000,
  infoMs: 10_000,
  createMs: 15_000,
  attachMs: 5_000,
  startMs: 20_000,
  readyMs: 5_000,
  inspectMs: 5_000,
  killMs: 5_000,
  removeMs: 20_000,
  listMs: 10_000,
};

/** The same deadlines, none above `limitMs`. */
export function boundedDeadlines(deadlines: EngineDeadlines, limitMs: number): EngineDeadlines {
  return {
    pingMs: Math.min(deadlines.pingMs, limitMs),
    infoMs: Math.min(deadlines.infoMs, limitMs),
    createMs: Math.min(deadlines.createMs, limitMs),
    attachMs: Math.min(deadlines.attachMs, limitMs),
    startMs: Math.min(deadlines.startMs, limitMs),
    readyMs: Math.min(deadlines.readyMs, limitMs),
    inspectMs: Math.min(deadlines.inspectMs, limitMs),
    killMs: Math.min(deadlines.killMs, limitMs),
    removeMs: Math.min(deadlines.removeMs, limitMs),
    listMs: Math.min(deadlines.listMs, limitMs),
  };
}
