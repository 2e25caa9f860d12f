import type { Log, Metrics } from "../../src/ports/telemetry.js";

/** A log that nobody reads. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

/** Metrics that nobody counts. */
export const silentMetrics: Metrics = {
  count: () => undefined,
  observe: () => undefined,
  gauge: () => undefined,
};
