/** What one session may use, beside the dispatches of its grant; null is no bound of its own. */
export interface SessionBudget {
  /** Sums over its commands. A command that has not ended counts with what was reserved for it. */
  readonly wallMsLeft: number | null;
  readonly cpuMsLeft: number | null;
  /** Commands in flight: queued or dispatched. */
  readonly concurrent: number | null;
  /** Commands that have not started: queued or awaiting approval. */
  readonly queued: number | null;
  /** Lowers the memory limit of its containers. */
  readonly maxMemoryBytes: number | null;
}

/** A session that only its grant and its tenant's quotas bound. */
export const UNBOUNDED_SESSION: SessionBudget = {
  wallMsLeft: null,
  cpuMsLeft: null,
  concurrent: null,
  queued: null,
  maxMemoryBytes: null,
};
