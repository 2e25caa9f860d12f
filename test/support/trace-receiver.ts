import { type Receiver, startReceiver } from "./webhook-receiver.js";

/** One span as a collector gets it. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** Which process sent it: `api`, `worker` or `all`. */
  readonly role: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
}

/** A collector of a test: what came, as spans and as text. */
export interface TraceReceiver extends Pick<Receiver, "stop" | "received"> {
  /** For `telemetry.otlp_endpoint`. */
  readonly endpoint: string;
  spans(): readonly ReceivedSpan[];
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
      }[];
    }[];
  }[];
}

function spansOf(body: string): ReceivedSpan[] {
  return (JSON.parse(body) as Export).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const role = resource.attributes.find(({ key }) => key === "bailiff.role")?.value.stringValue ?? "";
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano }) => ({
        name,
        traceId,
        spanId,
        parentSpanId: parentSpanId ?? null,
        role,
        startNs: BigInt(startTimeUnixNano),
        endNs: BigInt(endTimeUnixNano),
      })),
    );
  });
}

/** Starts a collector that takes OTLP over HTTP with JSON. */
export async function startTraceReceiver(
  options: Parameters<typeof startReceiver>[0] = {
    answer: (response) => response.setHeader("content-type", "application/json").end("{}"),
  },
): Promise<TraceReceiver> {
  const receiver = await startReceiver(options);
  return {
    endpoint: new URL(receiver.url).origin,
    received: receiver.received,
    stop: receiver.stop,
    spans: () =>
      receiver.received.filter(({ path }) => path === "/v1/traces").flatMap(({ body }) => spansOf(body)),
  };
}
