import type { TestEnvironment } from "../../test/support/environment.js";
import type { Goal, Row } from "./row.js";

/** How much is measured: for a first look, for the documented figures, or for the largest queue as well. */
export type Size = "quick" | "normal" | "full";

/** What every benchmark works with. */
export interface BenchmarkContext {
  readonly size: Size;
  /** How long a benchmark that runs for long may take at most; null leaves it to the benchmark. */
  readonly minutes: number | null;
  readonly environment: TestEnvironment;
  /** Marks every container of this run that a benchmark makes by hand. */
  readonly runId: string;
  /** Has something undone when the benchmark is over or the run is interrupted, the last one first. */
  defer(undo: () => Promise<unknown> | unknown): void;
  /** Tells the person who waits; not part of the result. */
  say(text: string): void;
}

/** What a benchmark found. `notes` is what a reader of the rows must know about this run. */
export interface BenchmarkResult {
  readonly rows: readonly Row[];
  readonly goals: readonly Goal[];
  readonly notes: readonly string[];
}

/** One benchmark of the table. */
export interface Benchmark {
  readonly name: string;
  readonly title: string;
  /** Bounded in count and time; leaves nothing running once its deferred work is done. */
  run(context: BenchmarkContext): Promise<BenchmarkResult>;
}
