import { z } from "zod";
import { fleetSchema, fleetToWire } from "../../../contract/workers.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

/** `GET /v1/workers`. */
export function workerRoutes(scope: HttpScope, { services, principalOf }: RouteDeps): void {
  scope.get(
    "/v1/workers",
    {
      schema: {
        operationId: "listWorkers",
        tags: ["service"],
        summary: "Every worker and queue of the deployment, whatever the tenant; needs the scope admin",
        security: [{ bearer: [] }],
        querystring: z.strictObject({}),
        response: { 200: jsonResponse("The deployment now.", fleetSchema), ...problemResponses() },
      },
    },
    async (request, reply) => reply.code(200).send(fleetToWire(await services.workers(principalOf(request)))),
  );
}
