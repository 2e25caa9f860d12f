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
