import type { CommandRecord } from "../../domain/command.js";
import type { Clock } from "../../ports/clock.js";
import type { Span, SpanAttributes, Tracer } from "../../ports/telemetry.js";
import { traced } from "../traced.js";

/** One command's way through a worker, as its trace tells it. */
export interface ExecutionTrace {
  /** Does one step of the way inside a span of its own. */
  step<T>(name: string, work: (span: Span) => Promise<T>): Promise<T>;
  /** Says something of the whole way. */
  note(attributes: SpanAttributes): void;
}

/**
 * Follows a command that a worker has taken from the queue, below the span of its submit: first what it waited for, then
 * the execution with its steps.
 */
export async function traceExecution<T>(
  deps: { readonly tracer: Tracer; readonly clock: Clock; readonly workerId: string },
  record: CommandRecord,
  work: (trace: ExecutionTrace) => Promise<T>,
): Promise<T> {
  const { tracer } = deps;
  const parent = record.traceparent ?? null;
  const attributes = {
    "bailiff.command_id": record.id,
    "bailiff.session_id": record.sessionId,
    "bailiff.tenant": record.tenant,
    "messaging.system": "bullmq",
    "messaging.destination.name": record.pool,
  };
  if (record.queuedAtMs !== null && parent !== null) {
    if (record.approval !== undefined) {
      tracer
        .start("approval wait", parent, { startMs: record.createdAtMs, attributes })
        .end(record.queuedAtMs);
    }
    const startMs = Math.min(record.queuedAtMs, deps.clock.nowMs());
    tracer.start("queue wait", parent, { startMs, attributes }).end();
  }
  const span = tracer.start("execute", parent, {
    kind: "consumer",
    attributes: { ...attributes, "bailiff.worker_id": deps.workerId, "bailiff.profile": record.profile },
  });
  try {
    return await work({
      step: (name, stepWork) => traced(tracer, name, span.traceparent, stepWork),
      note: (said) => span.set(said),
    });
  } finally {
    span.end();
  }
}
