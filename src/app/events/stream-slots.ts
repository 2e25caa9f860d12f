import { BailiffError } from "../../domain/errors.js";
import type { Metrics } from "../../ports/telemetry.js";

/** How many event streams may be open at once. */
export interface StreamBounds {
  readonly perProcess: number;
  readonly perTenant: number;
}

/** Counts the open event streams of one process. */
export interface StreamSlots {
  /** Takes a slot and answers how to give it back, which may be done twice. Throws `quota_exceeded`. */
  take(tenant: string): () => void;
}

const RETRY_AFTER_MS = 5_000;

/** Builds the count; the bound of the process keeps one for all of memory and sockets. */
export function createStreamSlots(bounds: StreamBounds, metrics: Metrics): StreamSlots {
  const perTenant = new Map<string, number>();
  let open = 0;
  const refuse = (limit: number, whose: string) =>
    new BailiffError("quota_exceeded", `${whose} has its ${limit} event streams open`, {
      retryAfterMs: RETRY_AFTER_MS,
      extensions: { quota: "eventStreams", limit },
    });

  return {
    take(tenant) {
      const own = perTenant.get(tenant) ?? 0;
      if (own >= bounds.perTenant) throw refuse(bounds.perTenant, "the tenant");
      if (open >= bounds.perProcess) throw refuse(bounds.perProcess, "this process");
      perTenant.set(tenant, own + 1);
      open += 1;
      metrics.gauge("bailiff_event_streams_open", open);
      let isGiven = false;
      return () => {
        if (isGiven) return;
        isGiven = true;
        open -= 1;
        metrics.gauge("bailiff_event_streams_open", open);
        const left = (perTenant.get(tenant) ?? 1) - 1;
        if (left === 0) perTenant.delete(tenant);
        else perTenant.set(tenant, left);
      };
    },
  };
}
