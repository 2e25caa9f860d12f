const TRACEPARENT =
  /^(?<version>[0-9a-f]{2})-(?<trace>[0-9a-f]{32})-(?<span>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;
/** Fields of later versions may follow; what is longer than this is nobody's trace context. */
const MAX_CHARS = 256;

/**
 * A W3C `traceparent` header in the form of version 00, with no flag but `sampled`. Null where it is malformed: such a
 * header counts as absent.
 */
export function readTraceparent(header: unknown): string | null {
  if (typeof header !== "string" || header.length > MAX_CHARS) return null;
  const { version, trace, span, flags, rest } = TRACEPARENT.exec(header)?.groups ?? {};
  if (version === undefined || trace === undefined || span === undefined || flags === undefined) return null;
  if (version === "ff" || (version === "00" && rest !== undefined)) return null;
  if (/^0+$/.test(trace) || /^0+$/.test(span)) return null;
  return `00-${trace}-${span}-0${Number.parseInt(flags, 16) & 1}`;
}

/** What a log line says of a trace context; nothing where there is none. */
export function traceFields(traceparent: string | null | undefined): { readonly trace_id?: string } {
  const traceId = traceparent?.split("-")[1];
  return traceId === undefined ? {} : { trace_id: traceId };
}
