import type { FleetWire } from "../api/wire.js";

/** One look at the deployment. */
export interface Sample {
  readonly atMs: number;
  readonly waiting: number;
  readonly active: number;
  readonly approvals: number;
}

/** How many looks are kept: twenty minutes at one every five seconds. */
const KEPT = 240;

/** What a look says in numbers. */
export function sampleOf(fleet: FleetWire, atMs: number): Sample {
  const sum = (of: (queue: FleetWire["queues"][number]) => number) =>
    fleet.queues.reduce((total, queue) => total + of(queue), 0);
  return {
    atMs,
    waiting: sum((queue) => queue.waiting + queue.prioritized + queue.delayed),
    active: sum((queue) => queue.active),
    approvals: fleet.commands.awaiting_approval,
  };
}

/** Appends a look, and forgets the oldest beyond what is kept. */
export function addSample(history: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...history, sample].slice(-KEPT);
}

/** The points of a plot of that size, oldest on the left, zero at the bottom. The scale never is smaller than `atLeast`. */
export function plotPoints(
  values: readonly number[],
  size: { readonly width: number; readonly height: number; readonly atLeast: number },
): string {
  const top = Math.max(size.atLeast, ...values);
  const step = values.length > 1 ? size.width / (values.length - 1) : 0;
  return values
    .map(
      (value, index) =>
        `${round(values.length > 1 ? index * step : size.width)},${round(size.height * (1 - value / top))}`,
    )
    .join(" ");
}

/** The value below which that part of the values lies; null where there are none. */
export function quantile(values: readonly number[], part: number): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? null;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
