import { BailiffError } from "../domain/errors.js";
import type { Metrics } from "../ports/telemetry.js";

/** How many of one thing may be open at once, and what it is called. */
export interface SlotTerms {
  readonly perProcess: number;
  readonly perTenant: number;
  /** In the plural, for messages. */
  readonly things: string;
  /** The problem's `quota`. */
  readonly quota: string;
  readonly gauge: string;
}

/** Counts what one process has open. */
export interface TenantSlots {
  /** Takes a slot and answers how to give it back, which may be done twice. Throws `quota_exceeded`. */
  take(tenant: string): () => void;
}

const RETRY_AFTER_MS = 5_000;

/** Builds the count; the bound of the process keeps one for all of memory and sockets. */
export function createTenantSlots(terms: SlotTerms, metrics: Metrics): TenantSlots {
  const perTenant = new Map<string, number>();
  let open = 0;
  const refuse = (limit: number, whose: string) =>
    new BailiffError("quota_exceeded", `${whose} has its ${limit} ${terms.things} open`, {
      retryAfterMs: RETRY_AFTER_MS,
      extensions: { quota: terms.quota, limit },
    });

  return {
    take(tenant) {
      const own = perTenant.get(tenant) ?? 0;
      if (own >= terms.perTenant) throw refuse(terms.perTenant, "the tenant");
      if (open >= terms.perProcess) throw refuse(terms.perProcess, "this process");
      perTenant.set(tenant, own + 1);
      open += 1;
      metrics.gauge(terms.gauge, open);
      let isGiven = false;
      return () => {
        if (isGiven) return;
        isGiven = true;
        open -= 1;
        metrics.gauge(terms.gauge, open);
        const left = (perTenant.get(tenant) ?? 1) - 1;
        if (left === 0) perTenant.delete(tenant);
        else perTenant.set(tenant, left);
      };
    },
  };
}
