import type { Log, Metrics } from "../ports/telemetry.js";

/** A duty that is done again and again, never twice at once, until stopped. */
export interface Periodic {
  start(): void;
  /** Resolves when the round under way is over. */
  stop(): Promise<void>;
}

/** Builds a periodic duty. A failed round is logged and the next one tried; the first round is at once. */
export function createPeriodic(duty: {
  readonly name: string;
  readonly intervalMs: number;
  readonly work: () => Promise<unknown>;
  readonly log: Log;
  readonly metrics: Metrics;
}): Periodic {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();

  const next = async (): Promise<void> => {
    duty.metrics.count("bailiff_duty_rounds_total", { duty: duty.name });
    try {
      await duty.work();
    } catch (error) {
      duty.metrics.count("bailiff_duty_failures_total", { duty: duty.name });
      duty.log.warn({ duty: duty.name, err: error }, "a periodic duty failed; it is tried again");
    }
    if (stopped) return;
    // Jitter keeps a fleet's rounds from falling together.
    const pauseMs = duty.intervalMs * (0.9 + 0.2 * Math.random());
    timer = setTimeout(() => {
      round = next();
    }, pauseMs);
  };

  return {
    start() {
      round = next();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}
