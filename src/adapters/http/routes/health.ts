import { healthSchema, readinessSchema, readinessToWire } from "../../../contract/health.js";
import type { HttpDeps, HttpScope } from "../http-deps.js";
import { jsonResponse } from "../problem-responses.js";

/** `/healthz` and `/readyz`, for probes: without a key. */
export function healthRoutes(
  app: HttpScope,
  deps: { readonly services: Pick<HttpDeps["services"], "readiness"> },
): void {
  app.get(
    "/healthz",
    {
      schema: {
        operationId: "getHealth",
        tags: ["service"],
        summary: "Whether the process lives",
        response: { 200: jsonResponse("It does.", healthSchema) },
      },
    },
    async (_request, reply) => reply.code(200).send({ status: "ok" }),
  );

  app.get(
    "/readyz",
    {
      schema: {
        operationId: "getReadiness",
        tags: ["service"],
        summary: "Whether it can take commands, check by check",
        response: {
          200: jsonResponse("It can.", readinessSchema),
          503: jsonResponse("It can't; see the checks.", readinessSchema),
        },
      },
    },
    async (_request, reply) => {
      const readiness = readinessToWire(await deps.services.readiness());
      if (readiness.ready) return reply.code(200).send(readiness);
      return reply.code(503).header("retry-after", "1").send(readiness);
    },
  );
}
