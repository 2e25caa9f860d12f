import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { HttpDeps, HttpScope } from "./http-deps.js";
import { healthRoutes } from "./routes/health.js";
import { metricsRoutes } from "./routes/metrics.js";
import { SECURE_HEADERS } from "./secure-headers.js";

/** No body is ever read; the smallest bound there is. */
const BODY_LIMIT_BYTES = 1;

/** `/healthz`, `/readyz` and `/metrics` of a process that has no API: for probes and scrapers, without a key. Never listens by itself. */
export function buildProbeApp(
  deps: Pick<HttpDeps, "metricsText"> & { readonly services: Pick<HttpDeps["services"], "readiness"> },
): FastifyInstance {
  const root = Fastify({ logger: false, bodyLimit: BODY_LIMIT_BYTES, requestTimeout: 10_000 });
  const app: HttpScope = root.withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (payload: unknown) => JSON.stringify(payload));
  app.addHook("onRequest", async (_request, reply) => {
    reply.headers(SECURE_HEADERS);
  });
  healthRoutes(app, { ...deps, authenticator: null });
  metricsRoutes(app, deps, null);
  return root;
}
