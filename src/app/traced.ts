import { BailiffError } from "../domain/errors.js";
import type { Span, Tracer } from "../ports/telemetry.js";

/** The kind of an error in one word: its code, else its name. Messages may quote callers, so they stay out. */
function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^\w{1,64}$/.test(code) ? code : error.name;
}

/** Does work inside a span. A refusal is the caller's and no failure; whatever else is thrown marks the span. */
export async function traced<T>(
  tracer: Tracer,
  name: string,
  parent: string | null,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.start(name, parent);
  try {
    return await work(span);
  } catch (error) {
    if (error instanceof BailiffError) span.set({ "bailiff.problem": error.code });
    else span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}
