/** Structured log; fields never hold argv, output or secrets at info level or above. */
export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** A log with these fields on every line. */
  child(fields: Readonly<Record<string, unknown>>): Log;
}

/** Counters and histograms by name; labels are from closed sets, never ids or caller text. */
export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>, by?: number): void;
  observe(name: string, valueSeconds: number, labels?: Readonly<Record<string, string>>): void;
  gauge(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
}

/** What a span says of itself. Never argv, paths, output or what a caller wrote: only ids, names and closed sets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** One piece of work in a trace. */
export interface Span {
  /** The W3C `traceparent` of what comes below it; null where there is no trace. */
  readonly traceparent: string | null;
  set(attributes: SpanAttributes): void;
  /** Marks the work as failed, by the kind of the error and not by its words. */
  fail(errorType: string): void;
  /** Ends it, now unless told. A span that is never ended is never told to anybody. */
  end(atMs?: number): void;
}

/** Follows work through processes. Never throws, never waits. */
export interface Tracer {
  /** Begins a span below `parent`, a valid `traceparent`, or a new trace. */
  start(
    name: string,
    parent: string | null,
    terms?: {
      /** What it is to the caller: `internal` unless told. */
      readonly kind?: "server" | "consumer" | "internal";
      /** When it began, where that is not now. */
      readonly startMs?: number;
      readonly attributes?: SpanAttributes;
    },
  ): Span;
}
