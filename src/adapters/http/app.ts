import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { BailiffError } from "../../domain/errors.js";
import { createArchiveUploads } from "./archive-body.js";
import { createAuthScope } from "./auth-scope.js";
import { answerClientError } from "./client-error.js";
import { asBailiffError, createErrorHandler, sendProblem } from "./error-handler.js";
import type { HttpDeps, HttpScope, RouteDeps } from "./http-deps.js";
import { acceptJsonOnly } from "./json-body.js";
import { registerDocs, registerOpenapi } from "./openapi.js";
import { queueBoardEntry, registerQueueBoard } from "./queue-board.js";
import { observeRequests } from "./request-telemetry.js";
import type { RouteTable } from "./route-table.js";
import { createRouteTable } from "./route-table.js";
import { approvalRoutes } from "./routes/approvals.js";
import { archiveRoutes } from "./routes/archives.js";
import { commandEventRoutes } from "./routes/command-events.js";
import { commandRoutes } from "./routes/commands.js";
import { consoleRoutes } from "./routes/console.js";
import { evidenceRoutes } from "./routes/evidence.js";
import { healthRoutes } from "./routes/health.js";
import { metricsRoutes } from "./routes/metrics.js";
import { policyRoutes } from "./routes/policy.js";
import { principalRoutes } from "./routes/principal.js";
import { sessionRoutes } from "./routes/sessions.js";
import { sourceObjectRoutes } from "./routes/source-objects.js";
import { workerRoutes } from "./routes/workers.js";
import { workspaceRoutes } from "./routes/workspaces.js";
import { SECURE_HEADERS } from "./secure-headers.js";
import { refuseUnwantedBody } from "./unwanted-body.js";
import { createWaitRegistry } from "./wait-registry.js";
import { zodValidation } from "./zod-validation.js";

/** How long a client may take to send its headers, and its whole request. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** Longer than the idle timeouts of common load balancers, so that they and not we end an idle connection. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/**
 * Builds the HTTP edge. It never listens: the caller does, and closes it. Closing ends the waits, lets requests in
 * flight be answered, and cancels no command. `routes` collects what was registered.
 */
export async function buildApp(
  deps: HttpDeps,
  routes: RouteTable = createRouteTable(),
): Promise<FastifyInstance> {
  const waits = createWaitRegistry();
  const uploads = createArchiveUploads();
  const root = Fastify({
    logger: false,
    bodyLimit: deps.limits.requestBodyBytes,
    genReqId: () => deps.ids.next("req"),
    requestIdHeader: false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: 5_000 },
    routerOptions: { maxParamLength: 128 },
    // Ours is a problem document.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => {
      // Told once: such a request is bounded by the terms of archives alone from then on.
      if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && uploads.has(socket)) return;
      answerClientError(error, socket, deps.ids.next("req"));
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...SECURE_HEADERS, "x-request-id": request.id });
      sendProblem(reply, asBailiffError(error, waits.ended), request.id);
    },
  });
  const app: HttpScope = root.withTypeProvider<ZodTypeProvider>();

  app.addHook("onRoute", (route) => routes.add([route.method].flat(), route.url));
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ ...SECURE_HEADERS, "x-request-id": request.id });
    if (!waits.ended) return;
    reply.header("connection", "close");
    throw new BailiffError("shutting_down", "shutting down");
  });
  app.addHook("preClose", async () => waits.end());
  const { traceparentOf } = observeRequests(app, deps);
  acceptJsonOnly(root);
  refuseUnwantedBody(app);
  app.setValidatorCompiler(zodValidation);
  // The mappings of the contract are typed by the response schemas: checking again would copy every result.
  app.setSerializerCompiler(() => (payload: unknown) => JSON.stringify(payload));
  app.setErrorHandler(createErrorHandler(deps.log, () => waits.ended));
  app.setNotFoundHandler((request, reply) => {
    const allowed = routes.methodsFor(request.url.split("?", 1)[0] ?? "");
    if (allowed.length === 0)
      return sendProblem(reply, new BailiffError("not_found", "there is nothing at this path"), request.id);
    reply.header("allow", allowed.join(", "));
    return sendProblem(
      reply,
      new BailiffError("method_not_allowed", `this path takes ${allowed.join(", ")}`),
      request.id,
    );
  });

  const auth = createAuthScope(deps.authenticator);
  const routeDeps: RouteDeps = { ...deps, principalOf: auth.principalOf, waits, traceparentOf };
  await registerOpenapi(app, deps.version);
  await registerDocs(app);
  healthRoutes(app, deps);
  if (deps.console) consoleRoutes(app, deps.console);
  if (deps.queueBoard) await registerQueueBoard(app, deps.queueBoard);
  if (deps.metricsPublic) metricsRoutes(app, deps, null);
  await app.register(async (plugin) => {
    const scope: HttpScope = plugin.withTypeProvider<ZodTypeProvider>();
    auth.protect(scope);
    principalRoutes(scope, routeDeps);
    if (deps.queueBoard) queueBoardEntry(scope, deps.queueBoard, auth.principalOf);
    commandRoutes(scope, routeDeps);
    commandEventRoutes(scope, routeDeps);
    sessionRoutes(scope, routeDeps);
    sourceObjectRoutes(scope, routeDeps);
    workspaceRoutes(scope, routeDeps);
    await scope.register(async (inner) =>
      archiveRoutes(inner.withTypeProvider<ZodTypeProvider>(), { ...routeDeps, uploads }),
    );
    approvalRoutes(scope, routeDeps);
    policyRoutes(scope, routeDeps);
    evidenceRoutes(scope, routeDeps);
    workerRoutes(scope, routeDeps);
    if (!deps.metricsPublic) metricsRoutes(scope, deps, auth.principalOf);
    const access = { principalOf: auth.principalOf, signalFor: waits.signalFor };
    for (const addRoutes of deps.moreRoutes ?? []) addRoutes(plugin, access);
  });
  return root;
}
