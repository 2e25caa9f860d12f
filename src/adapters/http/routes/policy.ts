import { submissionFromWire } from "../../../contract/commands.js";
import { decisionToWire } from "../../../contract/decisions.js";
import { explainBodySchema, explanationSchema, policySchema } from "../../../contract/policy.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];

/** `POST /v1/policy/explain` and `GET /v1/policy`. */
export function policyRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf, limits } = deps;

  scope.post(
    "/v1/policy/explain",
    {
      schema: {
        operationId: "explainCommand",
        tags: ["policy"],
        summary: "What a submit would be answered now, layer by layer; consumes nothing",
        security: SECURITY,
        body: explainBodySchema(limits),
        response: {
          200: jsonResponse("The decision, also when it is a denial.", explanationSchema),
          ...problemResponses(404, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const { session_id, ...submission } = request.body;
      const decision = await services.explain(
        principalOf(request),
        session_id,
        submissionFromWire(submission, limits),
      );
      return reply.code(200).send({ decision: decisionToWire(decision) });
    },
  );

  scope.get(
    "/v1/policy",
    {
      schema: {
        operationId: "getPolicy",
        tags: ["policy"],
        summary: "The policy in force",
        security: SECURITY,
        response: { 200: jsonResponse("Version and document.", policySchema), ...problemResponses() },
      },
    },
    async (request, reply) => {
      const { version, document } = await services.policy(principalOf(request));
      return reply.code(200).send({ version, document });
    },
  );
}
