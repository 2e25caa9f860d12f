import { principalSchema, principalToWire } from "../../../contract/principal.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

/** `GET /v1/principal`. */
export function principalRoutes(scope: HttpScope, deps: Pick<RouteDeps, "principalOf">): void {
  scope.get(
    "/v1/principal",
    {
      schema: {
        operationId: "getPrincipal",
        tags: ["service"],
        summary: "Who the key belongs to, and what it may do",
        security: [{ bearer: [] }],
        response: { 200: jsonResponse("The caller.", principalSchema), ...problemResponses() },
      },
    },
    async (request, reply) => reply.code(200).send(principalToWire(deps.principalOf(request))),
  );
}
