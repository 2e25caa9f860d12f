import { type Quantiles, quantiles } from "./quantiles.js";

/** What a number of a row counts. */
export type Unit =
  | "ms"
  | "µs"
  | "per s"
  | "MiB"
  | "bytes"
  | "commands"
  | "rounds"
  | "requests"
  | "connections"
  | "open"
  | "keys";

/** One line of the table. `baseline` names the row of the same run that `ratio` divides by; its ratio is of medians. */
export interface Row extends Quantiles {
  readonly benchmark: string;
  readonly label: string;
  readonly unit: Unit;
  readonly baseline: string | null;
  readonly ratio: number | null;
}

/** A bound that this run met or missed. */
export interface Goal {
  readonly text: string;
  readonly met: boolean;
}

/** Makes the rows of one benchmark. */
export interface RowMaker {
  /** A row from samples; against a row made before, by its label. */
  samples(label: string, unit: Unit, values: readonly number[], baseline?: string): Row;
  /** A row of one number. */
  value(label: string, unit: Unit, value: number, baseline?: string): Row;
  readonly rows: readonly Row[];
}

/** Builds an empty set of rows for a benchmark. */
export function createRows(benchmark: string): RowMaker {
  const rows: Row[] = [];
  const samples: RowMaker["samples"] = (label, unit, values, baseline) => {
    const measured = quantiles(values);
    const base = rows.find((row) => row.label === baseline);
    if (baseline !== undefined && base === undefined) throw new Error(`no row is labelled ${baseline}`);
    const row: Row = {
      benchmark,
      label,
      unit,
      ...measured,
      baseline: baseline ?? null,
      ratio: base === undefined || base.p50 === 0 ? null : measured.p50 / base.p50,
    };
    rows.push(row);
    return row;
  };
  return {
    samples,
    value: (label, unit, value, baseline) => samples(label, unit, [value], baseline),
    rows,
  };
}
