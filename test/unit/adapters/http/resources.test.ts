import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readinessSchema } from "../../../../src/contract/health.js";
import { explanationSchema } from "../../../../src/contract/policy.js";
import { sessionPageSchema, sessionSchema } from "../../../../src/contract/sessions.js";
import { fleetSchema } from "../../../../src/contract/workers.js";
import { workspaceSchema } from "../../../../src/contract/workspaces.js";
import { problemOf } from "../../../support/http/problem-of.js";
import type { TestApp } from "../../../support/http/test-app.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

let edge: TestApp;
beforeAll(async () => {
  edge = await createTestApp();
});
afterAll(() => edge.app.close());

describe("workspaces", () => {
  it("are created once, found, and removed", async () => {
    const created = await edge.call(KEYS.red, "PUT", "/v1/workspaces/repo-1");
    expect(created.statusCode).toBe(201);
    expect(created.headers.location).toBe("/v1/workspaces/repo-1");
    expect(workspaceSchema.parse(created.json()).workspace_id).toBe("repo-1");
    expect((await edge.call(KEYS.red, "PUT", "/v1/workspaces/repo-1")).statusCode).toBe(200);
    expect((await edge.call(KEYS.red, "GET", "/v1/workspaces/repo-1")).json()).toEqual(created.json());
    const removed = await edge.call(KEYS.red, "DELETE", "/v1/workspaces/repo-1");
    expect([removed.statusCode, removed.body]).toEqual([204, ""]);
    expect(problemOf(await edge.call(KEYS.red, "GET", "/v1/workspaces/repo-1")).code).toBe("not_found");
  });

  it.each(["UPPER", "a%2Fb", "..%2f..%2fetc", "-a", "a%00", "a".repeat(64), "%F0%9F%98%80"])(
    "are not created as %s",
    async (name) => {
      const problem = problemOf(await edge.call(KEYS.red, "PUT", `/v1/workspaces/${name}`));
      expect(problem.errors?.[0]?.path).toBe("/id");
    },
  );
});

describe("sessions", () => {
  it("are opened with a grant, listed, moved and closed", async () => {
    await edge.call(KEYS.red, "PUT", "/v1/workspaces/w1");
    const grant = {
      level: "deny_all",
      dispatches: 3,
      expires_at: "2030-01-01T00:00:00Z",
      executables: ["git"],
      vectors: [{ argv: ["npm", "test"], match: "exact", uses: 1 }],
    };
    const opened = await edge.call(KEYS.red, "POST", "/v1/sessions", {
      workspace_id: "w1",
      profile: "node",
      grant,
    });
    expect(opened.statusCode).toBe(201);
    const session = sessionSchema.parse(opened.json());
    expect(session).toMatchObject({
      workspace_id: "w1",
      profile: "node",
      cwd: ".",
      grant: {
        level: "deny_all",
        revoked: false,
        dispatches_left: 3,
        expires_at: "2030-01-01T00:00:00.000Z",
        executables: ["git"],
        vectors: [{ argv: ["npm", "test"], match: "exact", uses_left: 1 }],
      },
    });
    const path = `/v1/sessions/${session.session_id}`;
    expect(opened.headers.location).toBe(path);
    expect((await edge.call(KEYS.red, "GET", path)).json()).toEqual(session);

    const page = sessionPageSchema.parse((await edge.call(KEYS.red, "GET", "/v1/sessions?limit=1")).json());
    expect(page.sessions).toHaveLength(1);

    const moved = await edge.call(KEYS.red, "PUT", `${path}/cwd`, { path: "src" });
    expect(sessionSchema.parse(moved.json()).cwd).toBe("src");
    expect(
      problemOf(await edge.call(KEYS.red, "PUT", `${path}/cwd`, { path: "a\0b" })).errors?.[0]?.path,
    ).toBe("/path");

    expect((await edge.call(KEYS.red, "DELETE", path)).statusCode).toBe(204);
    expect(problemOf(await edge.call(KEYS.red, "GET", path)).code).toBe("not_found");
  });

  it("need a workspace of the tenant", async () => {
    expect(problemOf(await edge.call(KEYS.blue, "POST", "/v1/sessions", { workspace_id: "w1" })).code).toBe(
      "not_found",
    );
    expect(problemOf(await edge.call(KEYS.red, "POST", "/v1/sessions", {})).errors).toEqual([
      { path: "/workspace_id", message: "is required" },
    ]);
    expect(problemOf(await edge.call(KEYS.red, "POST", "/v1/sessions")).detail).toBe(
      "a JSON object is required",
    );
  });
});

describe("policy", () => {
  it("explains a denial as a 200: nothing was refused", async () => {
    const session_id = await edge.openSession();
    const response = await edge.call(KEYS.red, "POST", "/v1/policy/explain", {
      session_id,
      argv: ["deny-me"],
    });
    expect(response.statusCode).toBe(200);
    expect(explanationSchema.parse(response.json()).decision.verdict).toBe("deny");
  });

  it("explains under the same bounds as a submit", async () => {
    const problem = problemOf(
      await edge.call(KEYS.red, "POST", "/v1/policy/explain", { argv: [], cwd: "." }),
    );
    expect(problem.errors).toEqual([
      { path: "/cwd", message: "unknown key cwd" },
      { path: "/session_id", message: "is required" },
      { path: "/argv", message: "argv must have at least 1 token" },
    ]);
  });

  it("shows its version and document", async () => {
    expect((await edge.call(KEYS.red, "GET", "/v1/policy")).json()).toEqual({
      version: "v1",
      document: { rules: [] },
    });
  });
});

describe("workers", () => {
  it("are an operator's to see, with what their leases say", async () => {
    const fleet = fleetSchema.parse((await edge.call(KEYS.admin, "GET", "/v1/workers")).json());
    expect(fleet.workers.map(({ worker_id, state }) => [worker_id, state])).toEqual([
      ["wrk_a", "alive"],
      ["wrk_b", "draining"],
      ["wrk_c", "silent"],
    ]);
    expect(fleet.workers[0]).toMatchObject({ host: "host-1", running: 1, warm_containers: 2 });
    expect(fleet.workers[0]?.started_at).toBe("2023-11-14T22:13:20.000Z");
    expect(fleet.queues).toEqual([
      { pool: "default", waiting: 0, prioritized: 7, active: 1, delayed: 0, workers: 1 },
    ]);
    expect(problemOf(await edge.call(KEYS.red, "GET", "/v1/workers")).code).toBe("insufficient_scope");
    expect(problemOf(await edge.call(null, "GET", "/v1/workers")).code).toBe("unauthenticated");
    expect(problemOf(await edge.call(KEYS.admin, "GET", "/v1/workers?limit=1")).code).toBe("invalid_request");
  });
});

describe("health", () => {
  it("lives, and is ready or says what is not", async () => {
    expect((await edge.call(null, "GET", "/healthz")).json()).toEqual({ status: "ok" });
    expect((await edge.call(null, "GET", "/readyz")).statusCode).toBe(200);
    edge.services.setReady(false);
    const unready = await edge.call(null, "GET", "/readyz");
    edge.services.setReady(true);
    expect(unready.statusCode).toBe(503);
    expect(unready.headers["retry-after"]).toBe("1");
    expect(readinessSchema.parse(unready.json())).toEqual({
      ready: false,
      checks: { redis: { ok: false, detail: "does not answer" }, policy: { ok: true, detail: "refused" } },
    });
  });

  it("quotes a refused policy to operators alone, and refuses no probe for its key", async () => {
    const detailFor = async (key: string | null) => {
      const answer = await edge.call(key, "GET", "/readyz");
      expect(answer.statusCode).toBe(200);
      return readinessSchema.parse(answer.json()).checks["policy"]?.detail;
    };
    expect(await detailFor(KEYS.admin)).toBe("policy.yaml:3:1: [hunter2]");
    for (const key of [null, KEYS.red, "no-key-of-anybody"]) expect(await detailFor(key)).toBe("refused");
  });
});
