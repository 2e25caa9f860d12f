import { z } from "zod";
import {
  approvalDecisionSchema,
  approvalListQuerySchema,
  approvalPageSchema,
  approvalSchema,
  approvalSummaryToWire,
  approvalToWire,
} from "../../../contract/approvals.js";
import { DEFAULT_PAGE } from "../../../contract/paging.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];

/** What people decide about, and their word on it. */
export function approvalRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf } = deps;
  const params = z.strictObject({ id: z.string().meta({ description: "The approval's id." }) });

  scope.get(
    "/v1/approvals",
    {
      schema: {
        operationId: "listApprovals",
        tags: ["approvals"],
        summary: "List approvals, newest first",
        security: SECURITY,
        querystring: approvalListQuerySchema,
        response: { 200: jsonResponse("One page.", approvalPageSchema), ...problemResponses() },
      },
    },
    async (request, reply) => {
      const { state, limit, cursor } = request.query;
      const page = await services.listApprovals(principalOf(request), {
        state: state ?? null,
        limit: limit ?? DEFAULT_PAGE,
        cursor: cursor ?? null,
      });
      return reply
        .code(200)
        .send({ approvals: page.records.map(approvalSummaryToWire), next_cursor: page.nextCursor });
    },
  );

  scope.get(
    "/v1/approvals/:id",
    {
      schema: {
        operationId: "getApproval",
        tags: ["approvals"],
        summary: "Look at an approval: everything that a decision needs",
        security: SECURITY,
        params,
        response: { 200: jsonResponse("The approval.", approvalSchema), ...problemResponses(404) },
      },
    },
    async (request, reply) =>
      reply
        .code(200)
        .send(approvalToWire(await services.getApproval(principalOf(request), request.params.id))),
  );

  scope.post(
    "/v1/approvals/:id/decision",
    {
      schema: {
        operationId: "decideApproval",
        tags: ["approvals"],
        summary: "Approve or deny; the first word stands",
        description:
          "An approval is for exactly this request, once, in time. Whoever asked for the command can't approve it unless the service is configured so.",
        security: SECURITY,
        params,
        body: approvalDecisionSchema,
        response: {
          200: jsonResponse("Decided.", approvalSchema),
          ...problemResponses(404, 409, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const { decision, note } = request.body;
      const record = await services.decideApproval(principalOf(request), request.params.id, {
        decision,
        note: note ?? null,
      });
      return reply.code(200).send(approvalToWire(record));
    },
  );
}
