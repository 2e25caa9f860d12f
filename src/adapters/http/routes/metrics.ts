import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { BailiffError } from "../../../domain/errors.js";
import type { Principal } from "../../../ports/authenticator.js";
import type { HttpDeps, HttpScope } from "../http-deps.js";
import { problemResponses } from "../problem-responses.js";

/** The Prometheus text format's media type. */
const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

/** `/metrics`. With `principalOf` it needs the scope `admin`; null makes it public. */
export function metricsRoutes(
  scope: HttpScope,
  deps: Pick<HttpDeps, "metricsText">,
  principalOf: ((request: FastifyRequest) => Principal) | null,
): void {
  scope.get(
    "/metrics",
    {
      schema: {
        operationId: "getMetrics",
        tags: ["service"],
        summary: "Metrics of this process, for Prometheus",
        ...(principalOf === null ? {} : { security: [{ bearer: [] }] }),
        response: {
          200: { description: "Prometheus text format.", content: { "text/plain": { schema: z.string() } } },
          ...problemResponses(),
        },
      },
    },
    async (request, reply) => {
      if (principalOf !== null && !principalOf(request).scopes.has("admin")) {
        throw new BailiffError("insufficient_scope", "the scope admin is needed");
      }
      return reply
        .code(200)
        .type(TEXT_FORMAT)
        .send(await deps.metricsText());
    },
  );
}
