import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BailiffError } from "../../../../src/domain/errors.js";
import { problemOf } from "../../../support/http/problem-of.js";
import type { TestApp } from "../../../support/http/test-app.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

const PUBLIC = [/^\/healthz$/, /^\/readyz$/, /^\/openapi\.json$/, /^\/docs(\/.*)?$/];

let edge: TestApp;
beforeAll(async () => {
  edge = await createTestApp();
});
afterAll(() => edge.app.close());

const concrete = (url: string) => url.replaceAll(/:[a-z]+/g, "x").replace("*", "index.css");

describe("every route", () => {
  it("is either in the public list or refuses a request without a key", async () => {
    const refused: string[] = [];
    for (const { method, url } of edge.routes.entries) {
      const response = await edge.call(null, method, concrete(url));
      if (PUBLIC.some((pattern) => pattern.test(url))) {
        expect(response.statusCode, `${method} ${url}`).not.toBe(401);
        continue;
      }
      expect(response.statusCode, `${method} ${url}`).toBe(401);
      expect(response.headers["www-authenticate"]).toBe('Bearer realm="bailiff"');
      refused.push(`${method} ${url}`);
    }
    expect(refused).toContain("POST /v1/sessions/:id/commands");
    expect(refused).toContain("GET /metrics");
    expect(refused.length).toBeGreaterThanOrEqual(20);
  });

  it("refuses before it reads the body", async () => {
    const response = await edge.call(null, "POST", "/v1/sessions", "{ not json");
    expect(problemOf(response).code).toBe("unauthenticated");
  });
});

describe("a credential", () => {
  it.each([
    ["none", undefined],
    ["empty", ""],
    ["unknown", "Bearer nobody"],
    ["of another scheme", "Basic a2V5LXJlZDo="],
    ["without a scheme", KEYS.red],
    ["twice in one header", `Bearer ${KEYS.red}, Bearer ${KEYS.red}`],
    ["with a space inside", "Bearer key red"],
    ["with trailing bytes", `Bearer ${KEYS.red}\u00e9`],
    ["named like a member of every object", "Bearer constructor"],
    ["longer than any", `Bearer ${"k".repeat(9_000)}`],
  ])("that is %s is refused, and nothing says why", async (_name, authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await edge.call(null, "GET", "/v1/sessions", undefined, headers);
    const problem = problemOf(response);
    expect(problem.code).toBe("unauthenticated");
    expect(problem.detail).toBe("a valid API key or token is needed: Authorization: Bearer …");
  });

  it("is taken whatever the case of the scheme", async () => {
    const response = await edge.call(null, "GET", "/v1/sessions", undefined, {
      authorization: `bearer ${KEYS.red}`,
    });
    expect(response.statusCode).toBe(200);
  });

  it("that can't be checked because the store is down is a 503, not a pass", async () => {
    const broken = await createTestApp({
      authenticator: { authenticate: () => Promise.reject(new BailiffError("store_unavailable", "down")) },
    });
    expect((await broken.call(KEYS.red, "GET", "/v1/sessions")).statusCode).toBe(503);
    await broken.app.close();
  });
});

describe("scopes and tenants", () => {
  it("a missing scope is a 403", async () => {
    const session = await edge.openSession();
    const response = await edge.call(KEYS.redReader, "POST", `/v1/sessions/${session}/commands`, {
      argv: ["ls"],
    });
    expect(problemOf(response).code).toBe("insufficient_scope");
  });

  it("another tenant's workspace, session and command are a 404, word for word as if they did not exist", async () => {
    const session = await edge.openSession();
    const submitted = await edge.call(KEYS.red, "POST", `/v1/sessions/${session}/commands`, {
      argv: ["slow"],
    });
    const command = submitted.json<{ command_id: string }>().command_id;
    const probes: [string, string, string, unknown?][] = [
      ["GET", "/v1/workspaces/w1", "/v1/workspaces/w2"],
      ["DELETE", "/v1/workspaces/w1", "/v1/workspaces/w2"],
      ["GET", `/v1/sessions/${session}`, "/v1/sessions/ses_none"],
      ["DELETE", `/v1/sessions/${session}`, "/v1/sessions/ses_none"],
      ["PUT", `/v1/sessions/${session}/cwd`, "/v1/sessions/ses_none/cwd", { path: "a" }],
      ["POST", `/v1/sessions/${session}/commands`, "/v1/sessions/ses_none/commands", { argv: ["ls"] }],
      ["GET", `/v1/commands/${command}`, "/v1/commands/cmd_none"],
      ["POST", `/v1/commands/${command}/cancel`, "/v1/commands/cmd_none/cancel"],
    ];
    for (const [method, theirs, nobodys, body] of probes) {
      const foreign = problemOf(await edge.call(KEYS.blue, method, theirs, body));
      const absent = problemOf(await edge.call(KEYS.blue, method, nobodys, body));
      expect({ ...foreign, instance: "" }).toEqual({ ...absent, instance: "" });
      expect(foreign.code).toBe("not_found");
    }
    const listed = await edge.call(KEYS.blue, "GET", "/v1/commands");
    expect(listed.json()).toEqual({ commands: [], next_cursor: null });
    expect(edge.services.commands.get(command)?.state).toBe("dispatched");
  });
});

describe("/metrics", () => {
  it("needs the scope admin, unless it is configured public", async () => {
    expect(problemOf(await edge.call(KEYS.red, "GET", "/metrics")).code).toBe("insufficient_scope");
    const admin = await edge.call(KEYS.admin, "GET", "/metrics");
    expect(admin.statusCode).toBe(200);
    expect(admin.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(admin.body).toBe("# HELP bailiff_up 1\n");
    const open = await createTestApp({ metricsPublic: true });
    expect((await open.call(null, "GET", "/metrics")).statusCode).toBe(200);
    await open.app.close();
  });
});
