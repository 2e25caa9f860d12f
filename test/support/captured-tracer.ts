import type { SpanAttributes, Tracer } from "../../src/ports/telemetry.js";

/** One span that a part began. */
export interface CapturedSpan {
  readonly name: string;
  readonly parent: string | null;
  readonly traceparent: string;
  readonly attributes: SpanAttributes;
  readonly failure: string | null;
  readonly isEnded: boolean;
}

/** A tracer that keeps its spans, in the order of their beginning. */
export function createCapturedTracer(): { readonly tracer: Tracer; readonly spans: readonly CapturedSpan[] } {
  const spans: CapturedSpan[] = [];
  const tracer: Tracer = {
    start(name, parent, terms = {}) {
      const traceId = parent?.split("-")[1] ?? "1".repeat(32);
      const at = spans.length;
      const traceparent = `00-${traceId}-${String(at + 1).padStart(16, "0")}-01`;
      spans.push({
        name,
        parent,
        traceparent,
        attributes: { ...terms.attributes },
        failure: null,
        isEnded: false,
      });
      const change = (more: Partial<CapturedSpan>) => {
        spans[at] = { ...(spans[at] as CapturedSpan), ...more };
      };
      return {
        traceparent,
        set: (attributes) => change({ attributes: { ...spans[at]?.attributes, ...attributes } }),
        fail: (failure) => change({ failure }),
        end: () => change({ isEnded: true }),
      };
    },
  };
  return { tracer, spans };
}
