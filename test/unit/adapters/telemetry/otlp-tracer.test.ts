import { afterEach, expect, test } from "vitest";
import { createOtlpTracer, type OtlpTracer } from "../../../../src/adapters/telemetry/otlp-tracer.js";
import type { Metrics } from "../../../../src/ports/telemetry.js";
import { silentLog } from "../../../support/silent-telemetry.js";
import { startTraceReceiver, type TraceReceiver } from "../../../support/trace-receiver.js";

const CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED = CALLER.replace(/01$/, "00");

const BEFORE_THIS_PROCESS_MS = 1_700_000_000_000;

const open: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function collector(options?: Parameters<typeof startTraceReceiver>[0]): Promise<TraceReceiver> {
  const receiver = await startTraceReceiver(options);
  open.push({ close: () => receiver.stop() });
  return receiver;
}

function tracerTo(endpoint: string, sampleRatio = 1): OtlpTracer & { readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const metrics: Metrics = {
    count: (_, labels = {}, by = 1) =>
      counts.set(labels["result"] ?? "", (counts.get(labels["result"] ?? "") ?? 0) + by),
    observe: () => undefined,
    gauge: () => undefined,
  };
  const made = createOtlpTracer({
    endpoint,
    authorization: "Bearer for-the-collector",
    sampleRatio,
    role: "api",
    version: "0",
    deployment: "d",
    log: silentLog,
    metrics,
  });
  return { ...made, counts };
}

test("spans reach the collector with their parents, by the standard's names and with its credential", async () => {
  const receiver = await collector();
  const { tracer, close, counts } = tracerTo(`${receiver.endpoint}/`);
  const outer = tracer.start("outer", CALLER, { kind: "server", attributes: { "bailiff.tenant": "acme" } });
  const inner = tracer.start("inner", outer.traceparent, { startMs: BEFORE_THIS_PROCESS_MS });
  inner.fail("deadline");
  inner.end(BEFORE_THIS_PROCESS_MS + 2_000);
  outer.end();
  await close();
  const spans = receiver.spans();
  expect(spans.map(({ name, traceId, role }) => [name, traceId, role])).toEqual([
    ["inner", "0af7651916cd43dd8448eb211c80319c", "api"],
    ["outer", "0af7651916cd43dd8448eb211c80319c", "api"],
  ]);
  expect(spans[1]?.parentSpanId).toBe("b7ad6b7169203331");
  expect(spans[0]?.parentSpanId).toBe(spans[1]?.spanId);
  expect(outer.traceparent).toBe(`00-${spans[1]?.traceId}-${spans[1]?.spanId}-01`);
  expect(spans[0]?.startNs).toBe(BigInt(BEFORE_THIS_PROCESS_MS) * 1_000_000n);
  expect((spans[0]?.endNs ?? 0n) - (spans[0]?.startNs ?? 0n)).toBe(2_000_000_000n);
  expect(receiver.received[0]?.headers["authorization"]).toBe("Bearer for-the-collector");
  expect(counts).toEqual(new Map([["sent", 2]]));
});

test("the caller decides whether its trace is recorded, the ratio about those that begin here", async () => {
  const receiver = await collector();
  const all = tracerTo(receiver.endpoint, 1);
  const none = tracerTo(receiver.endpoint, 0);
  const unsampled = all.tracer.start("not wanted", UNSAMPLED);
  expect(unsampled.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/);
  unsampled.end();
  all.tracer.start("below it", unsampled.traceparent).end();
  none.tracer.start("left out", null).end();
  none.tracer.start("wanted", CALLER).end();
  all.tracer.start("begun here", null).end();
  await Promise.all([all.close(), none.close()]);
  expect(
    receiver
      .spans()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["begun here", "wanted"]);
});

test.each(["", "hunter2", CALLER.replace("00-0", "zz-0"), `00-${"0".repeat(32)}-b7ad6b7169203331-01`])(
  "a parent that is none (%j) begins a new trace",
  async (parent) => {
    const { tracer, close } = tracerTo("http://127.0.0.1:9");
    expect(tracer.start("x", parent).traceparent).toMatch(/^00-(?!0af7)[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    await close();
  },
);

test("a collector that never answers costs spans and nothing else: what is too much is dropped, and the end is bounded", async () => {
  const receiver = await collector({ answer: () => undefined });
  const { tracer, close, counts } = tracerTo(receiver.endpoint);
  const begunMs = Date.now();
  for (let i = 0; i < 10_000; i += 1) tracer.start("span", null).end();
  expect(counts.get("dropped")).toBeGreaterThan(7_000);
  await close();
  expect(Date.now() - begunMs).toBeLessThan(30_000);
  expect(counts.get("sent")).toBeUndefined();
});
