import { healthSchema, readinessSchema, readinessToWire } from "../../../contract/health.js";
import { bearerOf } from "../bearer.js";
import type { HttpDeps, HttpScope } from "../http-deps.js";
import { jsonResponse } from "../problem-responses.js";

/** `/healthz` and `/readyz`, for probes: without a key. With one of an operator, readiness is told in full. */
export function healthRoutes(
  app: HttpScope,
  deps: {
    readonly services: Pick<HttpDeps["services"], "readiness">;
    /** Null where nobody has a credential: nothing is told in full then. */
    readonly authenticator: HttpDeps["authenticator"] | null;
  },
): void {
  /** A credential that can't be judged is as good as none: a probe is never refused. */
  const isOperator = async (authorization: string | undefined): Promise<boolean> => {
    const bearer = bearerOf(authorization);
    if (bearer === null || deps.authenticator === null) return false;
    const principal = await deps.authenticator.authenticate(bearer).catch(() => null);
    return principal?.scopes.has("admin") ?? false;
  };

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
        description: "Needs no key. With a key of the scope admin, details are told in full.",
        response: {
          200: jsonResponse("It can.", readinessSchema),
          503: jsonResponse("It can't; see the checks.", readinessSchema),
        },
      },
    },
    async (request, reply) => {
      const readiness = readinessToWire(
        await deps.services.readiness(),
        await isOperator(request.headers.authorization),
      );
      if (readiness.ready) return reply.code(200).send(readiness);
      return reply.code(503).header("retry-after", "1").send(readiness);
    },
  );
}
