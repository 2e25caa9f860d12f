import type { HttpDeps, HttpScope } from "./http-deps.js";

/** Counts, times and logs every request by its route, never by its path: paths are the caller's text. */
export function observeRequests(app: HttpScope, deps: Pick<HttpDeps, "log" | "metrics">): void {
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
    const fields = {
      request_id: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime),
    };
    if (route === "/healthz" || route === "/readyz" || route === "/metrics")
      deps.log.debug(fields, "request");
    else deps.log.info(fields, "request");
  });
}
