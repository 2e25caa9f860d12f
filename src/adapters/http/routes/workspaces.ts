import { z } from "zod";
import { nameSchema } from "../../../contract/sessions.js";
import { workspaceSchema, workspaceToWire } from "../../../contract/workspaces.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];

/** `PUT|GET|DELETE /v1/workspaces/{id}`. */
export function workspaceRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf } = deps;
  const params = z.strictObject({ id: z.string().meta({ description: "The workspace's name." }) });

  scope.put(
    "/v1/workspaces/:id",
    {
      schema: {
        operationId: "putWorkspace",
        tags: ["workspaces"],
        summary: "Create a workspace, or find it there",
        security: SECURITY,
        params: z.strictObject({ id: nameSchema("The workspace's name.") }),
        response: {
          200: jsonResponse("It was there.", workspaceSchema),
          201: jsonResponse("It was created.", workspaceSchema),
          ...problemResponses(409, 429),
        },
      },
    },
    async (request, reply) => {
      const { workspace, created } = await services.putWorkspace(principalOf(request), request.params.id);
      reply.header("location", `/v1/workspaces/${workspace.id}`);
      return reply.code(created ? 201 : 200).send(workspaceToWire(workspace));
    },
  );

  scope.get(
    "/v1/workspaces/:id",
    {
      schema: {
        operationId: "getWorkspace",
        tags: ["workspaces"],
        summary: "Look at a workspace",
        security: SECURITY,
        params,
        response: { 200: jsonResponse("The workspace.", workspaceSchema), ...problemResponses(404, 409) },
      },
    },
    async (request, reply) =>
      reply
        .code(200)
        .send(workspaceToWire(await services.getWorkspace(principalOf(request), request.params.id))),
  );

  scope.delete(
    "/v1/workspaces/:id",
    {
      schema: {
        operationId: "deleteWorkspace",
        tags: ["workspaces"],
        summary: "Remove a workspace with everything in it",
        security: SECURITY,
        params,
        response: { 204: z.undefined().describe("It is gone."), ...problemResponses(404, 409) },
      },
    },
    async (request, reply) => {
      await services.deleteWorkspace(principalOf(request), request.params.id);
      return reply.code(204).send();
    },
  );
}
