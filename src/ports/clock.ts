/** Wall time, so that domain and app code can be tested without waiting. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
}
