import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandPageSchema, commandSchema } from "../../../../src/contract/commands.js";
import { canonicalJson } from "../../../../src/domain/canonical-json.js";
import {
  ASKED_ARGV0,
  completedResult,
  DENIED_ARGV0,
  decisionOf,
  SLOW_ARGV0,
} from "../../../support/http/in-memory-services.js";
import { problemOf } from "../../../support/http/problem-of.js";
import type { TestApp } from "../../../support/http/test-app.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

let edge: TestApp;
let url: string;
beforeAll(async () => {
  edge = await createTestApp();
  url = `/v1/sessions/${await edge.openSession()}/commands`;
});
afterAll(() => edge.app.close());

const submit = (body: unknown, headers: Record<string, string> = {}, query = "") =>
  edge.call(KEYS.red, "POST", `${url}${query}`, body, headers);

describe("a submit", () => {
  it("that ends within its wait is a 201 with the result and its location", async () => {
    const response = await submit({ argv: ["echo", "*", "$HOME"] }, { prefer: "wait=5" });
    expect(response.statusCode).toBe(201);
    expect(response.headers["content-type"]).toBe("application/json; charset=utf-8");
    const command = commandSchema.parse(response.json());
    expect(command.argv).toEqual(["echo", "*", "$HOME"]);
    expect(response.headers.location).toBe(`/v1/commands/${command.command_id}`);
    expect(response.headers["idempotency-replayed"]).toBeUndefined();
  });

  it("whose process failed is as much a success: the returncode is the answer's, not the call's", async () => {
    const response = await submit({ argv: ["false"] });
    expect(response.statusCode).toBe(201);
  });

  it.each([
    [SLOW_ARGV0, "dispatched"],
    [ASKED_ARGV0, "awaiting_approval"],
  ])("of %s is a 202 in state %s with a location and a hint when to look", async (argv0, state) => {
    const response = await submit({ argv: [argv0] });
    expect(response.statusCode).toBe(202);
    const command = commandSchema.parse(response.json());
    expect(command).toMatchObject({ state, outcome: null, stdout: null });
    expect(response.headers.location).toBe(`/v1/commands/${command.command_id}`);
    expect(response.headers["retry-after"]).toBe("1");
  });

  it("that is denied is a 403 with every layer's verdict and no way round", async () => {
    const problem = problemOf(await submit({ argv: [DENIED_ARGV0] }));
    expect(problem.code).toBe("denied");
    expect(problem.decision?.verdict).toBe("deny");
    expect(problem.decision?.layers.at(-1)).toMatchObject({
      layer: "policy",
      verdict: "deny",
      rule_id: "rule-1",
    });
    expect(problem.command_id).toMatch(/^cmd_/);
  });

  it("that is denied at dispatch is the same 403", async () => {
    const key = { "idempotency-key": "late-denial" };
    const first = await submit({ argv: [SLOW_ARGV0] }, key);
    const id = first.json<{ command_id: string }>().command_id;
    const record = edge.services.commands.get(id);
    if (record === undefined) throw new Error("missing");
    const result = completedResult("", { outcome: "denied", effect: "none", output: null });
    edge.services.commands.set(id, { ...record, state: "finished", decision: decisionOf("deny"), result });
    const problem = problemOf(await submit({ argv: [SLOW_ARGV0] }, key));
    expect(problem).toMatchObject({ code: "denied", command_id: id, decision: { verdict: "deny" } });
  });

  it("answers nothing of what only the service needs", async () => {
    const response = await submit({ argv: ["ls"] });
    expect(response.body).not.toMatch(/secret|fence|worker/);
  });

  it("with a token of 131,071 bytes passes and of 131,072 is a 400 (FB-26)", async () => {
    expect((await submit({ argv: ["echo", "x".repeat(131_071)] })).statusCode).toBe(201);
    const problem = problemOf(await submit({ argv: ["echo", "x".repeat(131_072)] }));
    expect(problem.errors).toEqual([
      { path: "/argv/1", message: "must be at most 131071 UTF-8 bytes, got 131072" },
    ]);
    expect(problemOf(await submit({ argv: ["echo", "é".repeat(65_536)] })).code).toBe("invalid_request");
  });

  it("with a NUL is a 400 that quotes nothing (FB-25)", async () => {
    const response = await submit({ argv: ["echo", "s3cret\0"] });
    expect(problemOf(response).errors).toEqual([
      { path: "/argv/1", message: "must not contain a NUL character" },
    ]);
    expect(response.body).not.toContain("s3cret");
  });

  it.each(["cwd", "env", "stdin", "tty", "shell", "constructor", "timeoutS"])(
    "with the unknown key %s is a 400 that names it",
    async (key) => {
      const problem = problemOf(await submit({ argv: ["ls"], [key]: 1 }));
      expect(problem.detail).toBe(`unknown key ${key}`);
      expect(problem.errors).toEqual([{ path: `/${key}`, message: `unknown key ${key}` }]);
    },
  );
});

describe("a wait", () => {
  it.each(["0", "60"])("of %s seconds is taken from the query", async (wait) => {
    expect((await submit({ argv: ["ls"] }, {}, `?wait=${wait}`)).statusCode).toBe(201);
  });

  it.each(["61", "-1", "1.5", "", "x", "1&wait=2"])("of %j is refused in the query", async (wait) => {
    expect(problemOf(await submit({ argv: ["ls"] }, {}, `?wait=${wait}`)).errors?.[0]?.path).toBe("/wait");
  });

  it.each(["wait=61", "wait=-1", "wait=x", "wait="])("of %j is refused in Prefer", async (prefer) => {
    expect(problemOf(await submit({ argv: ["ls"] }, { prefer })).errors?.[0]?.path).toBe("/prefer");
  });

  it("ends with a 202 when its time is over", async () => {
    expect((await submit({ argv: [SLOW_ARGV0] }, { prefer: "wait=1" })).statusCode).toBe(202);
  });

  it("an unknown query parameter is refused by name", async () => {
    expect(problemOf(await submit({ argv: ["ls"] }, {}, "?timeout=5")).detail).toBe(
      "unknown query parameter timeout",
    );
  });
});

describe("an Idempotency-Key", () => {
  it("gives the same command again as a 200 that says it is a replay", async () => {
    const first = await submit({ argv: ["ls"], timeout_s: 5 }, { "idempotency-key": "k1" });
    const again = await submit('{ "timeout_s": 5.0, "argv": ["l\\u0073"] }', { "idempotency-key": "k1" });
    expect(first.statusCode).toBe(201);
    expect(again.statusCode).toBe(200);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect(again.json()).toEqual(first.json());
  });

  it("is a 202 and a replay while the command runs", async () => {
    await submit({ argv: [SLOW_ARGV0] }, { "idempotency-key": "k2" });
    const again = await submit({ argv: [SLOW_ARGV0] }, { "idempotency-key": "k2" });
    expect(again.statusCode).toBe(202);
    expect(again.headers["idempotency-replayed"]).toBe("true");
  });

  it("with another body, or for another session, is a 409", async () => {
    await submit({ argv: ["ls"] }, { "idempotency-key": "k3" });
    expect(problemOf(await submit({ argv: ["ls", "-l"] }, { "idempotency-key": "k3" })).code).toBe(
      "idempotency_mismatch",
    );
    const other = `/v1/sessions/${await edge.openSession()}/commands`;
    const response = await edge.call(KEYS.red, "POST", other, { argv: ["ls"] }, { "idempotency-key": "k3" });
    expect(problemOf(response).code).toBe("idempotency_mismatch");
  });

  it("takes 1 to 255 visible ASCII characters", async () => {
    expect((await submit({ argv: ["ls"] }, { "idempotency-key": "x".repeat(255) })).statusCode).toBe(201);
    for (const key of ["", "x".repeat(256), "a b", "\u00e9"]) {
      const problem = problemOf(await submit({ argv: ["ls"] }, { "idempotency-key": key }));
      expect(problem.errors).toEqual([
        { path: "/idempotency-key", message: "must be 1 to 255 visible ASCII characters" },
      ]);
    }
  });

  it("stands for the SHA-256 of the canonical JSON of session and body", async () => {
    const { bodyHash } = await import("../../../../src/adapters/http/body-hash.js");
    const body = { argv: ["ls"] };
    const wanted = createHash("sha256")
      .update(canonicalJson({ session_id: "ses_1", body }))
      .digest("hex");
    expect(bodyHash("ses_1", body)).toBe(wanted);
    expect(() => bodyHash("ses_1", { argv: [undefined] })).toThrow("no canonical JSON");
  });
});

describe("a command", () => {
  it("is found by its id, listed without text, and cancelled", async () => {
    const submitted = await submit({ argv: [ASKED_ARGV0] });
    const id = submitted.json<{ command_id: string }>().command_id;
    const found = await edge.call(KEYS.red, "GET", `/v1/commands/${id}`);
    expect(commandSchema.parse(found.json())).toEqual(submitted.json());

    const listed = await edge.call(KEYS.red, "GET", "/v1/commands?state=awaiting_approval&limit=200");
    expect(commandPageSchema.parse(listed.json()).commands.map((one) => one.command_id)).toContain(id);

    const cancelled = await edge.call(KEYS.red, "POST", `/v1/commands/${id}/cancel`);
    expect(cancelled.statusCode).toBe(200);
    expect(cancelled.json()).toMatchObject({ state: "finished", outcome: "cancelled", effect: "none" });
  });

  it("that runs is cancelled by a 202: its end is still to come", async () => {
    const submitted = await submit({ argv: [SLOW_ARGV0] });
    const response = await edge.call(KEYS.red, "POST", `${submitted.headers.location}/cancel`, {});
    expect(response.statusCode).toBe(202);
    expect(response.json()).toMatchObject({ state: "dispatched", cancel_requested: true });
  });

  it("is cancelled without a body, and a body's key is refused by name", async () => {
    const submitted = await submit({ argv: ["ls"] });
    const problem = problemOf(
      await edge.call(KEYS.red, "POST", `${submitted.headers.location}/cancel`, { force: true }),
    );
    expect(problem.detail).toBe("unknown key force");
  });

  it.each([
    "limit=0",
    "limit=201",
    "limit=1.5",
    "limit=x",
    "state=done",
    "cursor=",
    "cursor=%00",
    "offset=3",
  ])("listing refuses %s", async (query) => {
    expect(problemOf(await edge.call(KEYS.red, "GET", `/v1/commands?${query}`)).code).toBe("invalid_request");
  });

  it.each(["limit=1", "limit=200", "state=queued", "session=ses_1", "cursor=abc"])(
    "listing takes %s",
    async (query) => {
      expect((await edge.call(KEYS.red, "GET", `/v1/commands?${query}`)).statusCode).toBe(200);
    },
  );
});
