import { hostname } from "node:os";
import { type Attributes, context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { readTraceparent } from "../../domain/trace-context.js";
import type { Log, Metrics, Tracer } from "../../ports/telemetry.js";

/** Spans that wait for the collector; what comes on top is dropped and counted. */
const MAX_WAITING_SPANS = 2_048;
const MAX_BATCH_SPANS = 512;
const BATCH_MS = 1_000;
const EXPORT_LIMIT_MS = 5_000;
/** For the last spans at the process's end. */
const CLOSE_LIMIT_MS = 2_000;

const KINDS = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, internal: SpanKind.INTERNAL } as const;

/** A tracer that sends its spans, and how it ends. */
export interface OtlpTracer {
  readonly tracer: Tracer;
  /** Sends what still waits, in bounded time; never rejects. */
  close(): Promise<void>;
}

/**
 * Spans by OTLP over HTTP with JSON, in batches behind everybody's back: a collector that is slow or gone costs spans and
 * nothing else. Whether a trace is recorded is its caller's word where there is one, else by the ratio.
 * Nothing is registered globally, and no instrumentation patches anything.
 */
export function createOtlpTracer(settings: {
  /** The collector's base URL; `/v1/traces` is appended. */
  readonly endpoint: string;
  /** The value of the `authorization` header; null for none. */
  readonly authorization: string | null;
  /** Of the traces that begin here, how many are recorded: 0 to 1. */
  readonly sampleRatio: number;
  readonly role: string;
  readonly version: string;
  readonly deployment: string;
  readonly log: Log;
  readonly metrics: Metrics;
}): OtlpTracer {
  const { authorization, log, metrics } = settings;
  const exporter = new OTLPTraceExporter({
    url: `${settings.endpoint.replace(/\/+$/, "")}/v1/traces`,
    timeoutMillis: EXPORT_LIMIT_MS,
    concurrencyLimit: 2,
    ...(authorization === null ? {} : { headers: { authorization } }),
  });
  let waiting = 0;
  let isFailing = false;

  const note = (spans: number, error: Error | undefined): void => {
    metrics.count("bailiff_trace_spans_total", { result: error === undefined ? "sent" : "failed" }, spans);
    // Once for each turn: a collector that is gone for a night is one line.
    if (error !== undefined && !isFailing) log.warn({ err: error }, "the collector takes no spans");
    if (error === undefined && isFailing) log.info({}, "the collector takes spans again");
    isFailing = error !== undefined;
  };
  const counted: SpanExporter = {
    export(spans, done) {
      waiting -= spans.length;
      exporter.export(spans, (result) => {
        note(spans.length, result.code === 0 ? undefined : (result.error ?? new Error("not taken")));
        // A failure is told above; the batching would only hand it to a global handler.
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor({
    exporter: counted,
    maxQueueSize: MAX_WAITING_SPANS,
    maxExportBatchSize: MAX_BATCH_SPANS,
    scheduledDelayMillis: BATCH_MS,
    exportTimeoutMillis: 2 * EXPORT_LIMIT_MS,
  });
  const bounded: SpanProcessor = {
    onStart: () => undefined,
    onEnd(span) {
      if (waiting >= MAX_WAITING_SPANS) {
        metrics.count("bailiff_trace_spans_total", { result: "dropped" });
        return;
      }
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": "bailiff",
      "service.version": settings.version,
      "service.namespace": settings.deployment,
      "service.instance.id": `${hostname()}-${process.pid}`,
      "bailiff.role": settings.role,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.sampleRatio) }),
    spanProcessors: [bounded],
  });
  const tracer = provider.getTracer("bailiff", settings.version);

  return {
    tracer: {
      start(name, parent, terms = {}) {
        const above = contextOf(parent);
        const span = tracer.startSpan(
          name,
          {
            kind: KINDS[terms.kind ?? "internal"],
            ...(terms.startMs === undefined ? {} : { startTime: new Date(terms.startMs) }),
            attributes: { ...terms.attributes },
          },
          above,
        );
        const { traceId, spanId, traceFlags } = span.spanContext();
        return {
          traceparent: `00-${traceId}-${spanId}-0${traceFlags & 1}`,
          set: (attributes) => void span.setAttributes(attributes as Attributes),
          fail(errorType) {
            span.setAttribute("error.type", errorType);
            span.setStatus({ code: SpanStatusCode.ERROR });
          },
          // As a number, a time before this process began would count from that beginning.
          end: (atMs) => span.end(atMs === undefined ? undefined : new Date(atMs)),
        };
      },
    },
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_LIMIT_MS);
      });
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

/** The parent is read again here: records come from a store that others may write to. */
function contextOf(parent: string | null) {
  const [, traceId, spanId, flags] = readTraceparent(parent)?.split("-") ?? [];
  if (traceId === undefined || spanId === undefined) return context.active();
  return trace.setSpanContext(context.active(), {
    traceId,
    spanId,
    traceFlags: Number(flags),
    isRemote: true,
  });
}
