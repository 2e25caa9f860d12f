import type { Clock } from "../../ports/clock.js";

/** The host's wall clock. */
export function createSystemClock(): Clock {
  return { nowMs: () => Date.now() };
}
