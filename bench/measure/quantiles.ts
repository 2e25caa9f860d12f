/** What one series of samples is reduced to. */
export interface Quantiles {
  readonly samples: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** Nearest rank: every answer is a sample that was measured. Of few samples p99 is the largest. */
export function quantiles(values: readonly number[]): Quantiles {
  if (values.length === 0) throw new RangeError("a series without samples has no quantiles");
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { samples: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
