import { z } from "zod";
import {
  auditPageSchema,
  auditQuerySchema,
  chainedToWire,
  checkpointToWire,
  commandEvidenceSchema,
} from "../../../contract/evidence.js";
import { DEFAULT_PAGE } from "../../../contract/paging.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];

/** `GET /v1/commands/{id}/evidence` and `GET /v1/audit`. */
export function evidenceRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf } = deps;

  scope.get(
    "/v1/commands/:id/evidence",
    {
      schema: {
        operationId: "getCommandEvidence",
        tags: ["evidence"],
        summary: "The records of one command, with the checkpoints that cover them",
        description: "Evidence outlives results: it is there when the command itself is not any more.",
        security: SECURITY,
        params: z.strictObject({ id: z.string().meta({ description: "The command's id." }) }),
        response: {
          200: jsonResponse("Its records so far, oldest first.", commandEvidenceSchema),
          ...problemResponses(404),
        },
      },
    },
    async (request, reply) => {
      const { commandId, records, complete } = await services.commandEvidence(
        principalOf(request),
        request.params.id,
      );
      return reply.code(200).send({
        command_id: commandId,
        records: records.map(({ chained, seal }) => ({
          ...chainedToWire(chained),
          sealed_by: seal === null ? null : checkpointToWire(seal),
        })),
        complete,
      });
    },
  );

  scope.get(
    "/v1/audit",
    {
      schema: {
        operationId: "audit",
        tags: ["evidence"],
        summary: "The tenant's evidence, oldest first",
        description:
          "Without a filter, all pages together are what `bailiff audit verify` verifies. The last page has no cursor.",
        security: SECURITY,
        querystring: auditQuerySchema,
        response: { 200: jsonResponse("One page.", auditPageSchema), ...problemResponses(404) },
      },
    },
    async (request, reply) => {
      const { from, kind, session, limit, cursor } = request.query;
      const page = await services.audit(principalOf(request), {
        fromMs: from === undefined ? null : Date.parse(from),
        kind: kind ?? null,
        sessionId: session ?? null,
        limit: limit ?? DEFAULT_PAGE,
        cursor: cursor ?? null,
      });
      return reply.code(200).send({
        records: page.records.map(chainedToWire),
        checkpoints: page.checkpoints.map(checkpointToWire),
        next_cursor: page.nextCursor,
      });
    },
  );
}
