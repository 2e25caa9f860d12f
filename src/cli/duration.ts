import { UsageError } from "./cli-command.js";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration like `30d`, `12h`, `5m` or `90s`. Throws UsageError for anything else. */
export function parseDurationMs(text: string): number {
  const [, count, unit] = /^([1-9][0-9]{0,5})([smhd])$/.exec(text) ?? [];
  const unitMs = unit === undefined ? undefined : UNIT_MS[unit];
  if (count === undefined || unitMs === undefined) {
    throw new UsageError(`${JSON.stringify(text)} is not a duration like 30d, 12h, 5m or 90s`);
  }
  return Number(count) * unitMs;
}
