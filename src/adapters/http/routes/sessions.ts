import { z } from "zod";
import { DEFAULT_PAGE } from "../../../contract/paging.js";
import {
  budgetFromWire,
  createdSessionSchema,
  cwdBodySchema,
  grantFromWire,
  sessionBodySchema,
  sessionListQuerySchema,
  sessionPageSchema,
  sessionSchema,
  sessionToWire,
  webhookFromWire,
} from "../../../contract/sessions.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];

/** `/v1/sessions` and what is under it, but for its commands. */
export function sessionRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf, defaultGrant } = deps;
  const params = z.strictObject({ id: z.string().meta({ description: "The session's id." }) });

  scope.post(
    "/v1/sessions",
    {
      schema: {
        operationId: "createSession",
        tags: ["sessions"],
        summary: "Open a session in a workspace",
        security: SECURITY,
        body: sessionBodySchema,
        response: {
          201: jsonResponse("The session, and the secret of its webhook.", createdSessionSchema),
          ...problemResponses(404, 409, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const { workspace_id, profile, grant, budget, webhook } = request.body;
      const { session, webhookSecret } = await services.createSession(principalOf(request), {
        workspaceId: workspace_id,
        profile: profile ?? null,
        grant: grant === undefined ? null : grantFromWire(grant, defaultGrant),
        budget: budget === undefined ? null : budgetFromWire(budget),
        webhook: webhook === undefined ? null : webhookFromWire(webhook),
      });
      return reply
        .code(201)
        .header("location", `/v1/sessions/${session.id}`)
        .send({
          ...sessionToWire(session),
          ...(webhookSecret === null ? {} : { webhook_secret: webhookSecret }),
        });
    },
  );

  scope.get(
    "/v1/sessions",
    {
      schema: {
        operationId: "listSessions",
        tags: ["sessions"],
        summary: "List sessions",
        security: SECURITY,
        querystring: sessionListQuerySchema,
        response: { 200: jsonResponse("One page.", sessionPageSchema), ...problemResponses() },
      },
    },
    async (request, reply) => {
      const { limit, cursor } = request.query;
      const page = await services.listSessions(principalOf(request), limit ?? DEFAULT_PAGE, cursor ?? null);
      return reply
        .code(200)
        .send({ sessions: page.sessions.map(sessionToWire), next_cursor: page.nextCursor });
    },
  );

  scope.get(
    "/v1/sessions/:id",
    {
      schema: {
        operationId: "getSession",
        tags: ["sessions"],
        summary: "Look at a session",
        security: SECURITY,
        params,
        response: { 200: jsonResponse("The session.", sessionSchema), ...problemResponses(404) },
      },
    },
    async (request, reply) =>
      reply.code(200).send(sessionToWire(await services.getSession(principalOf(request), request.params.id))),
  );

  scope.delete(
    "/v1/sessions/:id",
    {
      schema: {
        operationId: "deleteSession",
        tags: ["sessions"],
        summary: "Close a session: revokes its grant and cancels what has not finished",
        security: SECURITY,
        params,
        response: { 204: z.undefined().describe("It is closed."), ...problemResponses(404) },
      },
    },
    async (request, reply) => {
      await services.deleteSession(principalOf(request), request.params.id);
      return reply.code(204).send();
    },
  );

  scope.post(
    "/v1/sessions/:id/revoke",
    {
      schema: {
        operationId: "revokeSession",
        tags: ["sessions"],
        summary:
          "Revoke a session's grant at once: what is queued ends denied, what runs goes on, the session stays readable",
        security: SECURITY,
        params,
        response: { 200: jsonResponse("The session.", sessionSchema), ...problemResponses(404) },
      },
    },
    async (request, reply) =>
      reply
        .code(200)
        .send(sessionToWire(await services.revokeSession(principalOf(request), request.params.id))),
  );

  scope.put(
    "/v1/sessions/:id/cwd",
    {
      schema: {
        operationId: "setCwd",
        tags: ["sessions"],
        summary: "Choose where the session's next commands run",
        security: SECURITY,
        params,
        body: cwdBodySchema,
        response: {
          200: jsonResponse("The session.", sessionSchema),
          ...problemResponses(404, 409, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const session = await services.setCwd(principalOf(request), request.params.id, request.body.path);
      return reply.code(200).send(sessionToWire(session));
    },
  );
}
