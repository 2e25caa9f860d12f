import type { Outcome } from "../outcome.js";

/** What the budgets are charged for a command: its reservation until it ends, then what it used of it. Whole numbers. */
export interface Charge {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const NANO = 1_000_000_000;

/** The reservation of a command: all the time it may take, on all the CPUs it may have. */
export function chargeFor(timeoutMs: number, nanoCpus: number): Charge {
  return { wallMs: Math.ceil(timeoutMs), cpuMs: Math.ceil((timeoutMs * nanoCpus) / NANO) };
}

/** The longest timeout whose reservation fits into the CPU time; 0 when not even a millisecond does. */
export function timeoutForCpuMs(cpuMs: number, nanoCpus: number): number {
  return Math.max(0, Math.floor((cpuMs * NANO) / nanoCpus));
}

/** The time to settle a command's charge with; null asks for all that was reserved: nothing measured it, or nothing proves its end. */
export function usedTime(result: {
  readonly outcome: Outcome;
  readonly usage: { readonly wallMs: number; readonly cpuMs: number | null } | null;
}): { readonly wallMs: number | null; readonly cpuMs: number | null } {
  if (result.outcome === "lost" || result.usage === null) return { wallMs: null, cpuMs: null };
  const whole = (ms: number | null) => (ms === null ? null : Math.max(0, Math.ceil(ms)));
  return { wallMs: whole(result.usage.wallMs), cpuMs: whole(result.usage.cpuMs) };
}
