import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { buildApp } from "../../../src/adapters/http/app.js";
import type { HttpDeps } from "../../../src/adapters/http/http-deps.js";
import type { RouteTable } from "../../../src/adapters/http/route-table.js";
import { createRouteTable } from "../../../src/adapters/http/route-table.js";
import { untraced } from "../../../src/adapters/telemetry/untraced.js";
import { formatId } from "../../../src/domain/ids.js";
import { DEFAULT_SERVICE_LIMITS } from "../../../src/domain/limits.js";
import type { Principal, Scope } from "../../../src/ports/authenticator.js";
import { SCOPES } from "../../../src/ports/authenticator.js";
import type { CapturedLine } from "../captured-log.js";
import { createCapturedLog } from "../captured-log.js";
import type { InMemoryServices } from "./in-memory-services.js";
import { createInMemoryServices, OPEN_GRANT } from "./in-memory-services.js";

/** Keys of the test app: two tenants, one reader. */
export const KEYS = {
  red: "key-red",
  blue: "key-blue",
  redReader: "key-red-reader",
  admin: "key-admin",
} as const;

const AGENT_SCOPES = SCOPES.filter((scope) => scope !== "admin");
const PRINCIPALS: Readonly<Record<string, { id: string; tenant: string; scopes: readonly Scope[] }>> = {
  [KEYS.red]: { id: "red-agent", tenant: "red", scopes: AGENT_SCOPES },
  [KEYS.blue]: { id: "blue-agent", tenant: "blue", scopes: AGENT_SCOPES },
  [KEYS.redReader]: { id: "red-reader", tenant: "red", scopes: ["commands:read", "sessions:read"] },
  [KEYS.admin]: { id: "red-admin", tenant: "red", scopes: ["admin"] },
};

function principalOf(bearer: string): Principal | null {
  const found = Object.hasOwn(PRINCIPALS, bearer) ? PRINCIPALS[bearer] : undefined;
  if (found === undefined) return null;
  return { id: found.id, tenant: found.tenant, scopes: new Set(found.scopes), method: "api_key" };
}

/** The HTTP edge over in-memory services. */
export interface TestApp {
  readonly app: FastifyInstance;
  readonly services: InMemoryServices;
  readonly routes: RouteTable;
  readonly logLines: readonly CapturedLine[];
  /** Injects with this key; null for none. A `body` is sent as JSON. */
  call(
    key: string | null,
    method: string,
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<LightMyRequestResponse>;
  /** A workspace and a session of the key's tenant; the session's id. */
  openSession(key?: string): Promise<string>;
}

/** Builds the app; close `app` at the end of a test. */
export async function createTestApp(overrides: Partial<HttpDeps> = {}): Promise<TestApp> {
  const services = createInMemoryServices();
  const routes = createRouteTable();
  const log = createCapturedLog();
  let requests = 0;
  const app = await buildApp(
    {
      services,
      authenticator: { authenticate: async (bearer) => principalOf(bearer) },
      limits: DEFAULT_SERVICE_LIMITS,
      defaultGrant: OPEN_GRANT,
      log,
      metrics: { count: () => undefined, observe: () => undefined, gauge: () => undefined },
      tracer: untraced,
      clock: { nowMs: () => 1_700_000_000_000 },
      ids: {
        next: (kind) => {
          requests += 1;
          return formatId(kind, 1_700_000_000_000 + requests, new Uint8Array(10));
        },
      },
      metricsText: async () => "# HELP bailiff_up 1\n",
      metricsPublic: false,
      version: "0.0.0-test",
      ...overrides,
    },
    routes,
  );
  const call: TestApp["call"] = (key, method, url, body, headers = {}) =>
    app.inject({
      method: method as NonNullable<InjectOptions["method"]>,
      url,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  return {
    app,
    services,
    routes,
    logLines: log.lines,
    call,
    async openSession(key = KEYS.red) {
      await call(key, "PUT", "/v1/workspaces/w1");
      const response = await call(key, "POST", "/v1/sessions", { workspace_id: "w1" });
      return response.json<{ session_id: string }>().session_id;
    },
  };
}
