import type { FastifyRequest } from "fastify";
import { readTraceparent, traceFields } from "../../domain/trace-context.js";
import type { Span } from "../../ports/telemetry.js";
import type { HttpDeps, HttpScope } from "./http-deps.js";

/** Requests for work; probes, pages and what matches no route would only bury them. */
const TRACED = /^\/(?:v1|mcp)(?:\/|$)/;

/** Where routes ask for the trace context of a request. */
export interface RequestTraces {
  traceparentOf(request: FastifyRequest): string | null;
}

/** Counts, times, logs and traces every request by its route, never by its path: paths are the caller's text. */
export function observeRequests(
  app: HttpScope,
  deps: Pick<HttpDeps, "log" | "metrics" | "tracer">,
): RequestTraces {
  const spans = new WeakMap<FastifyRequest, Span>();

  app.addHook("onRequest", async (request) => {
    const route = request.routeOptions.url;
    if (route === undefined || !TRACED.test(route)) return;
    const span = deps.tracer.start(
      `${request.method} ${route}`,
      readTraceparent(request.headers["traceparent"]),
      {
        kind: "server",
        attributes: {
          "http.request.method": request.method,
          "http.route": route,
          "bailiff.request_id": request.id,
        },
      },
    );
    spans.set(request, span);
  });

  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "none";
    const labels = {
      method: request.routeOptions.url === undefined ? "other" : request.method,
      route,
      status: String(reply.statusCode),
    };
    deps.metrics.count("bailiff_http_requests_total", labels);
    deps.metrics.observe("bailiff_http_request_seconds", reply.elapsedTime / 1000, {
      method: labels.method,
      route,
    });
    const span = spans.get(request);
    const fields = {
      request_id: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime),
      ...traceFields(span?.traceparent),
    };
    if (route === "/healthz" || route === "/readyz" || route === "/metrics")
      deps.log.debug(fields, "request");
    else deps.log.info(fields, "request");
    // Who has no credential fills nobody's collector.
    if (span === undefined || reply.statusCode === 401) return;
    span.set({ "http.response.status_code": reply.statusCode });
    if (reply.statusCode >= 500) span.fail(String(reply.statusCode));
    span.end();
  });

  return { traceparentOf: (request) => spans.get(request)?.traceparent ?? null };
}
