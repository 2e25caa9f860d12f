import { z } from "zod";
import { nameSchema } from "../../../contract/sessions.js";
import {
  sourceObjectBodySchema,
  sourceObjectSchema,
  sourceObjectToWire,
} from "../../../contract/source-objects.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];

/** What the agent has read, under its session. */
export function sourceObjectRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf } = deps;
  const params = z.strictObject({
    id: z.string().meta({ description: "The session's id." }),
    object_id: nameSchema("The object's name, chosen by the caller."),
  });

  scope.put(
    "/v1/sessions/:id/objects/:object_id",
    {
      schema: {
        operationId: "putSourceObject",
        tags: ["sessions"],
        summary: "Say how sensitive something is that the agent read; a label may only rise",
        security: SECURITY,
        params,
        body: sourceObjectBodySchema,
        response: {
          200: jsonResponse("It was known, and its label is this one now.", sourceObjectSchema),
          201: jsonResponse("It is known from now on.", sourceObjectSchema),
          ...problemResponses(404, 409, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { id, object_id } = request.params;
      const object = await services.putSourceObject(principalOf(request), id, object_id, request.body);
      return reply.code(object.created ? 201 : 200).send(sourceObjectToWire(object));
    },
  );

  scope.get(
    "/v1/sessions/:id/objects/:object_id",
    {
      schema: {
        operationId: "getSourceObject",
        tags: ["sessions"],
        summary: "Look at the label of a source object",
        security: SECURITY,
        params,
        response: { 200: jsonResponse("The object.", sourceObjectSchema), ...problemResponses(404) },
      },
    },
    async (request, reply) => {
      const { id, object_id } = request.params;
      return reply
        .code(200)
        .send(sourceObjectToWire(await services.getSourceObject(principalOf(request), id, object_id)));
    },
  );
}
