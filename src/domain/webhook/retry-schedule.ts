/** How long a delivery is tried. */
export interface RetrySchedule {
  /** Attempts in all. */
  readonly attempts: number;
  /** Before the second attempt; doubles from there. */
  readonly firstRetryMs: number;
  /** From the first attempt on; behind it nothing is tried again. */
  readonly maxAgeMs: number;
}

const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Milliseconds until the next attempt after `attempts` of them have failed, or null to give up. `chance` is from 0 to 1: half of
 * the pause is left to it, so that the deliveries of one outage do not all come back at once.
 */
export function retryPauseMs(
  schedule: RetrySchedule,
  attempts: number,
  ageMs: number,
  chance: number,
): number | null {
  if (attempts >= schedule.attempts) return null;
  const pauseMs = Math.min(
    LONGEST_PAUSE_MS,
    schedule.firstRetryMs * 2 ** Math.min(30, Math.max(0, attempts - 1)),
  );
  const chosenMs = Math.round(pauseMs * (0.5 + chance / 2));
  return ageMs + chosenMs > schedule.maxAgeMs ? null : chosenMs;
}
