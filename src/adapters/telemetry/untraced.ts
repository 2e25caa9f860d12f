import type { Span, Tracer } from "../../ports/telemetry.js";

const ABSENT: Span = {
  traceparent: null,
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};

/** Records nothing; a caller's trace context still travels with its command, and stands in the log. */
export const untraced: Tracer = {
  start: (_name, parent) => (parent === null ? ABSENT : { ...ABSENT, traceparent: parent }),
};
