import type { LightMyRequestResponse } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMcpEndpoint } from "../../../../src/adapters/mcp/mcp-endpoint.js";
import type { McpSessionBounds } from "../../../../src/adapters/mcp/mcp-sessions.js";
import { BailiffError } from "../../../../src/domain/errors.js";
import { DEFAULT_SERVICE_LIMITS } from "../../../../src/domain/limits.js";
import { createCapturedLog } from "../../../support/captured-log.js";
import {
  ASKED_ARGV0,
  createInMemoryServices,
  DENIED_ARGV0,
  type InMemoryServices,
  SLOW_ARGV0,
} from "../../../support/http/in-memory-services.js";
import { problemOf } from "../../../support/http/problem-of.js";
import { createTestApp, KEYS, type TestApp } from "../../../support/http/test-app.js";
import { connectMcp } from "../../../support/mcp/mcp-client.js";

let services: InMemoryServices;
let edge: TestApp;
let session: string;
let nowMs: number;

async function open(bounds?: McpSessionBounds) {
  services = createInMemoryServices();
  nowMs = 0;
  const endpoint = createMcpEndpoint({
    services,
    limits: DEFAULT_SERVICE_LIMITS,
    clock: { nowMs: () => nowMs },
    log: createCapturedLog(),
    version: "0.0.0-test",
    ...(bounds === undefined ? {} : { bounds }),
  });
  edge = await createTestApp({ services, moreRoutes: [endpoint] });
  session = await edge.openSession();
}

beforeEach(() => open());
afterEach(() => edge.app.close());

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };
const ACCEPT = { accept: "application/json, text/event-stream" };
const run = (argv: readonly string[], id = 3) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "run_shell_command", arguments: { argv } },
});

const post = (key: string | null, body: unknown, headers: Record<string, string> = {}, query = "") =>
  edge.call(key, "POST", `/mcp${query}`, body, { ...ACCEPT, "bailiff-session": session, ...headers });

/** The JSON-RPC message of an answer, whichever of the two forms it has. */
function messageOf(response: LightMyRequestResponse) {
  const { body } = response;
  const text = body.startsWith("{") ? body : (/^data: (\{.*)$/m.exec(body)?.[1] ?? "null");
  return JSON.parse(text);
}

async function initialize(key: string = KEYS.red): Promise<string> {
  const response = await post(key, INITIALIZE);
  expect(response.statusCode).toBe(200);
  return String(response.headers["mcp-session-id"]);
}

describe("who may call", () => {
  it("is who may call the API, and nobody else", async () => {
    for (const method of ["POST", "DELETE"]) {
      const response = await edge.call(null, method, "/mcp", method === "POST" ? LIST : undefined, ACCEPT);
      expect(problemOf(response).code).toBe("unauthenticated");
    }
    expect((await post(KEYS.red, LIST)).statusCode).toBe(200);
  });

  it.each([
    ["http://evil.example.com", 403],
    ["https://localhost.evil.example.com", 403],
    ["null", 403],
    ["file://localhost", 403],
    ["http://localhost:5173", 200],
    ["http://127.0.0.1", 200],
    ["https://[::1]:8443", 200],
  ])("a page of %s gets %d", async (origin, status) => {
    const response = await post(KEYS.red, LIST, { origin });
    expect(response.statusCode).toBe(status);
    if (status === 403) expect(problemOf(response).code).toBe("origin_refused");
  });

  it("another tenant's session is not there", async () => {
    const call = messageOf(await post(KEYS.blue, run(["ls"])));
    expect(call.result).toMatchObject({
      isError: true,
      structuredContent: { error_code: "not_found", next_step: "stop", effect: "none" },
    });
  });

  it("a key that may not look at commands starts none", async () => {
    const call = messageOf(await post(KEYS.redReader, run(["ls"])));
    expect(call.result.structuredContent).toMatchObject({ error_code: "insufficient_scope", effect: "none" });
    expect(services.commands.size).toBe(0);
  });
});

describe("which session it works in", () => {
  it("has to be said, once, and as an id", async () => {
    const without = await edge.call(KEYS.red, "POST", "/mcp", LIST, ACCEPT);
    expect(problemOf(without).code).toBe("invalid_request");
    expect(problemOf(await post(KEYS.red, LIST, { "bailiff-session": "main" })).code).toBe("invalid_request");
    const twice = await post(KEYS.red, LIST, {}, `?session=${session.replace(/.$/, "z")}`);
    expect(problemOf(twice).code).toBe("invalid_request");
    const inQuery = await edge.call(KEYS.red, "POST", `/mcp?session=${session}`, LIST, ACCEPT);
    expect(inQuery.statusCode).toBe(200);
  });

  it("can't be changed within an MCP session", async () => {
    const id = await initialize();
    const other = await edge.openSession();
    const moved = await post(KEYS.red, LIST, { "mcp-session-id": id, "bailiff-session": other });
    expect(problemOf(moved).code).toBe("invalid_request");
    const without = await edge.call(KEYS.red, "POST", "/mcp", run(["ls"]), {
      ...ACCEPT,
      "mcp-session-id": id,
    });
    expect(messageOf(without).result.structuredContent.outcome).toBe("completed");
    expect([...services.commands.values()].map(({ sessionId }) => sessionId)).toEqual([session]);
  });

  it("is the only one whose commands can be waited for", async () => {
    const own = messageOf(await post(KEYS.red, run(["mine"]))).result.structuredContent.command_id;
    const other = await edge.openSession();
    const wait = { ...run([]), params: { name: "await_command", arguments: { command_id: own } } };
    const foreign = messageOf(await post(KEYS.red, wait, { "bailiff-session": other }));
    expect(foreign.result.structuredContent).toMatchObject({ error_code: "not_found", stdout: null });
    expect(messageOf(await post(KEYS.red, wait)).result.structuredContent).toMatchObject({ stdout: "mine" });
  });
});

describe("an MCP session", () => {
  it("belongs to the principal that opened it: for others it is not there", async () => {
    const id = await initialize();
    for (const key of [KEYS.blue, KEYS.redReader, KEYS.admin]) {
      expect(problemOf(await post(key, LIST, { "mcp-session-id": id })).code).toBe("not_found");
      const ended = await edge.call(key, "DELETE", "/mcp", undefined, { "mcp-session-id": id });
      expect(problemOf(ended).code).toBe("not_found");
    }
    expect((await post(KEYS.red, LIST, { "mcp-session-id": id })).statusCode).toBe(200);
  });

  it("ends when it is deleted", async () => {
    const id = await initialize();
    const ended = await edge.call(KEYS.red, "DELETE", "/mcp", undefined, { "mcp-session-id": id });
    expect(ended.statusCode).toBe(204);
    expect(problemOf(await post(KEYS.red, LIST, { "mcp-session-id": id })).status).toBe(404);
  });

  it("makes room for a new one when its tenant has too many, the longest idle first", async () => {
    await edge.app.close();
    await open({ perProcess: 10, perTenant: 2, idleMs: 1_000 });
    const first = await initialize();
    nowMs += 1;
    const second = await initialize();
    nowMs += 1;
    await post(KEYS.red, LIST, { "mcp-session-id": first });
    nowMs += 1;
    await initialize();
    expect((await post(KEYS.red, LIST, { "mcp-session-id": first })).statusCode).toBe(200);
    expect((await post(KEYS.red, LIST, { "mcp-session-id": second })).statusCode).toBe(404);
  });

  it("is not to be had where all are in use, or the process is full of other tenants'", async () => {
    await edge.app.close();
    await open({ perProcess: 1, perTenant: 1, idleMs: 1_000 });
    await initialize();
    const refused = await post(KEYS.blue, INITIALIZE);
    expect(problemOf(refused).code).toBe("overloaded");
    expect(refused.headers["retry-after"]).toBe("5");
  });

  it("is not kept where its first message was refused", async () => {
    const refused = await post(KEYS.red, INITIALIZE, { accept: "application/json" });
    expect(refused.statusCode).toBe(406);
    expect(refused.headers["mcp-session-id"]).toBeUndefined();
  });
});

describe("without an MCP session", () => {
  it("one message is answered in plain JSON, with the headers of the API", async () => {
    const response = await post(KEYS.red, run(["hello"]));
    expect(response.headers["content-type"]).toBe("application/json");
    expect(response.headers["mcp-session-id"]).toBeUndefined();
    expect(response.headers["x-content-type-options"]).toBe("nosniff");
    expect(response.headers["x-request-id"]).toMatch(/^req_/);
    expect(messageOf(response).result.structuredContent).toMatchObject({ stdout: "hello", returncode: 0 });
  });

  it("a client that asks for it gets none either", async () => {
    const response = await post(KEYS.red, INITIALIZE, {}, "?stateless=true");
    expect(response.statusCode).toBe(200);
    expect(response.headers["mcp-session-id"]).toBeUndefined();
  });
});

describe("a message", () => {
  it.each([
    ["a batch", [LIST]],
    ["text", '"x"'],
    ["an id without end", { ...LIST, id: "x".repeat(257) }],
    ["two values for one key", '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}'],
  ])("that is %s is refused", async (_what, body) => {
    expect(problemOf(await post(KEYS.red, body)).code).toBe("invalid_request");
  });

  it("larger than the API takes is refused", async () => {
    const response = await post(KEYS.red, run(["x".repeat(2 << 20)]));
    expect(problemOf(response).code).toBe("payload_too_large");
  });

  it("of a version that nobody speaks is refused", async () => {
    expect((await post(KEYS.red, LIST, { "mcp-protocol-version": "1999-01-01" })).statusCode).toBe(400);
  });

  it("is never sent outside of an answer: GET is not offered", async () => {
    const response = await edge.call(KEYS.red, "GET", "/mcp", undefined, { accept: "text/event-stream" });
    expect(response.statusCode).toBe(405);
    expect(response.headers["allow"]).toBe("DELETE, POST");
  });
});

describe("a call", () => {
  it("that is denied is an error of the tool with the rule's reason", async () => {
    const { result } = messageOf(await post(KEYS.red, run([DENIED_ARGV0])));
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error_code: "denied", next_step: "stop", denied_by: { rule_id: "rule-1" } },
    });
  });

  it("that meets a dead store does not claim that nothing happened", async () => {
    services.failNextWith(new BailiffError("store_unavailable", "redis://secret"));
    const response = await post(KEYS.red, run(["ls"]));
    expect(messageOf(response).result.structuredContent).toMatchObject({ effect: "unknown" });
    expect(response.body).not.toContain("secret");
  });

  it("is told that it waits for a person, as often as its client asked for", async () => {
    const url = await edge.app.listen({ port: 0 });
    const { client, close } = await connectMcp(url, {
      authorization: `Bearer ${KEYS.red}`,
      "bailiff-session": session,
    });
    const said: string[] = [];
    const stop = new AbortController();
    const call = client.callTool(
      { name: "run_shell_command", arguments: { argv: [ASKED_ARGV0] } },
      undefined,
      {
        signal: stop.signal,
        onprogress: ({ message }) => said.push(message ?? ""),
      },
    );
    await expect.poll(() => said.length).toBeGreaterThan(0);
    expect(said[0]).toMatch(/^cmd_\w+ has not run: it waits for a person's approval( of .+)?\.$/);
    stop.abort("enough");
    await expect(call).rejects.toThrow();
    // The wait ended; the command did not.
    await expect.poll(() => services.abortedWaits()).toBe(1);
    expect([...services.commands.values()].map(({ state }) => state)).toEqual(["awaiting_approval"]);
    // And the connection still answers.
    expect((await client.listTools()).tools).toHaveLength(4);
    await close();
  });

  it("whose client goes away ends its wait, never its command", async () => {
    const url = await edge.app.listen({ port: 0 });
    const left = new AbortController();
    const asked = fetch(`${url}/mcp`, {
      method: "POST",
      signal: left.signal,
      headers: {
        ...ACCEPT,
        "content-type": "application/json",
        authorization: `Bearer ${KEYS.red}`,
        "bailiff-session": session,
      },
      body: JSON.stringify(run([SLOW_ARGV0])),
    });
    await expect.poll(() => services.commands.size).toBe(1);
    left.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => services.abortedWaits()).toBe(1);
    expect([...services.commands.values()][0]).toMatchObject({ state: "dispatched", cancelRequested: false });
  });

  it("that waits when the service closes is told where to ask again", async () => {
    const url = await edge.app.listen({ port: 0 });
    const { client } = await connectMcp(url, {
      authorization: `Bearer ${KEYS.red}`,
      "bailiff-session": session,
    });
    const call = client.callTool({ name: "run_shell_command", arguments: { argv: [SLOW_ARGV0] } });
    await expect.poll(() => services.commands.size).toBe(1);
    const [result] = await Promise.all([call, edge.app.close()]);
    expect(result.structuredContent).toMatchObject({ next_step: "await", state: "dispatched" });
    await client.close();
  });
});
