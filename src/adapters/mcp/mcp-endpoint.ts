import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { BailiffServices } from "../../app/services.js";
import { BailiffError } from "../../domain/errors.js";
import { isId } from "../../domain/ids.js";
import type { ServiceLimits } from "../../domain/limits.js";
import { createMcpServers, type McpRequestExtra, type ToolCaller } from "../../mcp/mcp-server.js";
import type { Principal } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import type { Log } from "../../ports/telemetry.js";
import { createMcpSessions, type McpSession, type McpSessionBounds } from "./mcp-sessions.js";
import { isAllowedOrigin } from "./origin.js";
import { createServiceBackend } from "./service-backend.js";

const PATH = "/mcp";
const SESSION_HEADER = "mcp-session-id";
/** What the transport has to know of a request; everything else, the credential first, stays outside. */
const PASSED_HEADERS = ["accept", "content-type", "mcp-protocol-version", SESSION_HEADER] as const;

const DEFAULT_BOUNDS: McpSessionBounds = { perProcess: 2_000, perTenant: 100, idleMs: 30 * 60_000 };
const IDLE_CHECK_MS = 60_000;
const MAX_ID_CHARS = 256;
/** The SDK remembers each cancelled call as long as its session lives. */
const MAX_CANCELLED = 1_000;

const querySchema = z.strictObject({
  session: z.string().optional(),
  stateless: z.enum(["true", "false"]).optional(),
});
type Query = z.output<typeof querySchema>;

/** What these routes have to know of a request. */
interface RequestAccess {
  principalOf(request: FastifyRequest): Principal;
  signalFor(reply: FastifyReply): AbortSignal;
}

type Transport = WebStandardStreamableHTTPServerTransport;

/**
 * The routes of `/mcp`: streamable HTTP, with a session of the protocol for whoever begins with `initialize`, and without for the rest.
 * Which Bailiff session it works in is said by the client's configuration, never by the agent.
 */
export function createMcpEndpoint(deps: {
  readonly services: BailiffServices;
  readonly limits: ServiceLimits;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly bounds?: McpSessionBounds;
}): (scope: FastifyInstance, access: RequestAccess) => void {
  const fault = (error: unknown, more: Readonly<Record<string, unknown>> = {}) =>
    deps.log.error({ ...more, err: error }, "an MCP call failed");
  const newServer = createMcpServers({
    version: deps.version,
    bounds: deps.limits,
    nowMs: () => deps.clock.nowMs(),
    onFault: (tool, error) => fault(error, { tool }),
  });
  const sessions = createMcpSessions({
    clock: deps.clock,
    bounds: deps.bounds ?? DEFAULT_BOUNDS,
    onFault: fault,
  });

  const openSession = async (principal: Principal, bailiffSessionId: string): Promise<McpSession> => {
    sessions.makeRoom(principal.tenant);
    const id = randomUUID();
    const transport: Transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
    });
    let cancelled = 0;
    const server = newServer((extra) => {
      // No answer follows a cancelled call: its stream would stay open for nothing.
      extra.signal.addEventListener("abort", () => {
        transport.closeSSEStream(extra.requestId);
        cancelled += 1;
        if (cancelled >= MAX_CANCELLED) sessions.end(id);
      });
      return callerOf(extra);
    });
    const session = { id, principal, bailiffSessionId, transport, server };
    sessions.add(session);
    await server.connect(transport);
    return session;
  };

  /** A transport and a server for one message. */
  const openStateless = async (body: unknown, reply: FastifyReply): Promise<Transport> => {
    const transport: Transport = new WebStandardStreamableHTTPServerTransport({
      // Plain JSON, unless there will be progress to tell.
      enableJsonResponse: !wantsProgress(body),
    });
    const server = newServer(callerOf);
    reply.raw.once("close", () => void server.close().catch(fault));
    await server.connect(transport);
    return transport;
  };

  return (scope, access) => {
    const onRequest = async (request: FastifyRequest): Promise<void> => {
      if (isAllowedOrigin(request.headers.origin)) return;
      throw new BailiffError("origin_refused", "pages of this origin may not call /mcp");
    };

    scope.post<{ Querystring: Query; Body: unknown }>(
      PATH,
      { onRequest, schema: { hide: true, querystring: querySchema, body: z.unknown() } },
      async (request, reply) => {
        const { body } = request;
        const principal = access.principalOf(request);
        const named = bailiffSessionOf(request, request.query);
        refuseUnfitMessage(body);
        const mcpSessionId = headerOf(request, SESSION_HEADER);
        let sessionId = named;
        let transport: Transport;
        let opened: McpSession | null = null;
        if (mcpSessionId !== null) {
          const session = sessions.find(mcpSessionId, principal);
          if (session === null) throw new BailiffError("not_found", "no such MCP session: initialize again");
          if (named !== null && named !== session.bailiffSessionId) {
            throw new BailiffError("invalid_request", "this MCP session belongs to another Bailiff session");
          }
          sessionId = session.bailiffSessionId;
          transport = session.transport;
        } else {
          if (named === null) {
            throw new BailiffError(
              "invalid_request",
              "name the Bailiff session to work in: Bailiff-Session: ses_…",
            );
          }
          if (isInitializeRequest(body) && request.query.stateless !== "true") {
            opened = await openSession(principal, named);
          }
          transport = opened?.transport ?? (await openStateless(body, reply));
        }
        const backend = createServiceBackend(deps, principal, sessionId ?? "");
        const caller: ToolCaller = { backend, signal: access.signalFor(reply) };
        reply.raw.once("finish", () => {
          // A stream that began before the service closes has promised to keep its connection.
          if (caller.signal.aborted) request.raw.socket.end();
        });
        const release = sessions.use(mcpSessionId ?? opened?.id ?? "");
        reply.raw.once("close", release);
        const answered = transport.handleRequest(webRequest(request), {
          parsedBody: body,
          authInfo: { token: "", clientId: principal.id, scopes: [], extra: { caller } },
        });
        const left = new Promise<null>((resolve) => reply.raw.once("close", () => resolve(null)));
        const response = await Promise.race([answered, left]);
        if (response === null) return reply;
        if (opened !== null && !response.ok) sessions.end(opened.id);
        return sendResponse(reply, response);
      },
    );

    scope.delete<{ Querystring: Query }>(
      PATH,
      { onRequest, schema: { hide: true, querystring: querySchema } },
      async (request, reply) => {
        const id = headerOf(request, SESSION_HEADER);
        const session = id === null ? null : sessions.find(id, access.principalOf(request));
        if (session === null) throw new BailiffError("not_found", "no such MCP session");
        sessions.end(session.id);
        return reply.code(204).send();
      },
    );

    const idleCheck = setInterval(() => sessions.endIdle(), IDLE_CHECK_MS).unref();
    scope.addHook("onClose", async () => {
      clearInterval(idleCheck);
      sessions.endAll();
    });
  };
}

/** The SDK carries the caller of each HTTP request to its handler in the place meant for that. */
function callerOf(extra: McpRequestExtra): ToolCaller {
  const caller = extra.authInfo?.extra?.["caller"];
  if (caller === undefined) throw new Error("an MCP call without a caller");
  return caller as ToolCaller;
}

function headerOf(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  if (Array.isArray(value)) throw new BailiffError("invalid_request", `${name} must be given once`);
  return value ?? null;
}

function bailiffSessionOf(request: FastifyRequest, query: Query): string | null {
  const inHeader = headerOf(request, "bailiff-session");
  const inQuery = query.session ?? null;
  if (inHeader !== null && inQuery !== null && inHeader !== inQuery) {
    throw new BailiffError("invalid_request", "Bailiff-Session and ?session= name different sessions");
  }
  const id = inHeader ?? inQuery;
  if (id !== null && !isId("ses", id)) {
    throw new BailiffError("invalid_request", "Bailiff-Session is not the id of a session");
  }
  return id;
}

/** One message at a time: the answers of a batch would wait for its slowest command. */
function refuseUnfitMessage(body: unknown): void {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new BailiffError("invalid_request", "the body must be one JSON-RPC message, not a batch");
  }
  const id = "id" in body ? body.id : undefined;
  if (typeof id === "string" && id.length > MAX_ID_CHARS) {
    throw new BailiffError("invalid_request", `a message's id has at most ${MAX_ID_CHARS} characters`);
  }
}

const progressSchema = z.object({
  params: z.object({ _meta: z.object({ progressToken: z.union([z.string(), z.number()]) }) }),
});

function wantsProgress(body: unknown): boolean {
  return progressSchema.safeParse(body).success;
}

function webRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const name of PASSED_HEADERS) {
    const value = request.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  return new Request(`http://bailiff${PATH}`, { method: "POST", headers });
}

async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status);
  for (const name of ["content-type", SESSION_HEADER, "x-accel-buffering"]) {
    const value = response.headers.get(name);
    if (value !== null) reply.header(name, value);
  }
  if (response.body === null) return reply.send();
  // Some proxies hold back or rewrite a stream unless they are told not to.
  reply.header("cache-control", "no-store, no-transform");
  return reply.send(Readable.fromWeb(response.body));
}
