import { afterEach, describe, expect, it } from "vitest";
import { createCapturedTracer } from "../../../support/captured-tracer.js";
import { createTestApp, KEYS, type TestApp } from "../../../support/http/test-app.js";

const CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

let edge: TestApp;

afterEach(async () => {
  await edge.app.close();
});

async function traced() {
  const captured = createCapturedTracer();
  edge = await createTestApp({ tracer: captured.tracer });
  return captured.spans;
}

describe("the trace of a request", () => {
  it("goes on with its caller's, is named by its route, and stands in the log", async () => {
    const spans = await traced();
    await edge.call(KEYS.red, "GET", "/v1/sessions/hunter2?limit=hunter2", undefined, {
      traceparent: CALLER,
      cookie: "hunter2",
    });
    expect(spans).toMatchObject([
      { name: "GET /v1/sessions/:id", parent: CALLER, isEnded: true, failure: null },
    ]);
    expect(spans[0]?.attributes).toEqual({
      "http.request.method": "GET",
      "http.route": "/v1/sessions/:id",
      "http.response.status_code": expect.any(Number),
      "bailiff.request_id": expect.stringMatching(/^req_/),
    });
    expect(JSON.stringify(spans)).not.toContain("hunter2");
    const line = edge.logLines.find(({ message }) => message === "request");
    expect(line?.fields).toMatchObject({ trace_id: "0af7651916cd43dd8448eb211c80319c" });
  });

  it("begins anew where the caller's is malformed", async () => {
    const spans = await traced();
    await edge.call(KEYS.red, "GET", "/v1/sessions", undefined, { traceparent: `${CALLER}-hunter2` });
    expect(spans).toMatchObject([{ name: "GET /v1/sessions", parent: null, isEnded: true }]);
  });

  it("is not told of a request without a credential, of a probe or of a path that is not there", async () => {
    const spans = await traced();
    await edge.call(null, "GET", "/v1/sessions", undefined, { traceparent: CALLER });
    await edge.call(null, "GET", "/healthz", undefined, { traceparent: CALLER });
    await edge.call(KEYS.red, "GET", "/v1/nothing", undefined, { traceparent: CALLER });
    expect(spans.filter(({ isEnded }) => isEnded)).toEqual([]);
  });
});
