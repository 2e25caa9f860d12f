import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BailiffError } from "../../../../src/domain/errors.js";
import { DEFAULT_SERVICE_LIMITS } from "../../../../src/domain/limits.js";
import { StoreUnavailable } from "../../../../src/ports/command-store.js";
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

const raw = (payload: string | Buffer, headers: Record<string, string>) =>
  edge.app.inject({
    method: "POST",
    url,
    payload,
    headers: { authorization: `Bearer ${KEYS.red}`, ...headers },
  });

describe("the body", () => {
  it.each([
    ["none", {}],
    ["text/plain", { "content-type": "text/plain" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["a JSON dialect", { "content-type": "application/problem+json" }],
    ["a look-alike", { "content-type": "application/jsonp" }],
    ["another charset", { "content-type": "application/json; charset=utf-16" }],
    ["a compressed body", { "content-type": "application/json", "content-encoding": "gzip" }],
    ["nonsense", { "content-type": ";;;" }],
  ])("with %s as its type is a 415", async (_name, headers) => {
    const response = await raw('{"argv":["ls"]}', headers);
    expect(problemOf(response).code).toBe("unsupported_media_type");
  });

  it.each(["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])(
    "as %s is taken",
    async (type) => {
      expect((await raw('{"argv":["ls"]}', { "content-type": type })).statusCode).toBe(201);
    },
  );

  it("that is not JSON is a 400 with the position and nothing of the content", async () => {
    const response = await raw('{"argv":[s3cret]}', { "content-type": "application/json" });
    expect(problemOf(response).detail).toContain("line 1, column 10");
    expect(response.body).not.toContain("s3cret");
  });

  it("with a duplicate key, __proto__ or deep nesting is a 400", async () => {
    for (const body of [
      '{"argv":["a"],"argv":["b"]}',
      '{"__proto__":{},"argv":["a"]}',
      `{"argv":${"[".repeat(100_000)}`,
    ]) {
      expect(problemOf(await raw(body, { "content-type": "application/json" })).code).toBe("invalid_request");
    }
  });

  it("that is not valid UTF-8 is a 400: replacement would change the argv", async () => {
    const body = Buffer.concat([
      Buffer.from('{"argv":["echo","'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"]}'),
    ]);
    expect(problemOf(await raw(body, { "content-type": "application/json" })).detail).toBe(
      "the body is not valid UTF-8",
    );
  });

  it("of the size limit is read, and of one byte more is a 413", async () => {
    const frame = '{"argv":["ls"]}';
    const sized = (bytes: number) => frame + " ".repeat(bytes - frame.length);
    const limit = DEFAULT_SERVICE_LIMITS.requestBodyBytes;
    const json = { "content-type": "application/json" };
    expect((await raw(sized(limit - 1), json)).statusCode).toBe(201);
    expect((await raw(sized(limit), json)).statusCode).toBe(201);
    expect(problemOf(await raw(sized(limit + 1), json)).code).toBe("payload_too_large");
  });

  it("that is missing or empty is a 400", async () => {
    for (const body of ["", "null", "[]", "5"]) {
      expect(problemOf(await raw(body, { "content-type": "application/json" })).code).toBe("invalid_request");
    }
  });
});

describe("a path", () => {
  it("that does not exist is a 404 and echoes nothing", async () => {
    for (const path of [
      "/",
      "/v1",
      "/v1/nothing-here",
      "/v1/commands/x/y/z",
      `/v1/commands/${"x".repeat(500)}`,
    ]) {
      const response = await edge.call(null, "GET", path);
      expect(problemOf(response).code).toBe("not_found");
      expect(response.body).not.toContain("nothing-here");
    }
  });

  it("that takes other methods is a 405 that lists them", async () => {
    const response = await edge.call(KEYS.red, "PATCH", "/v1/sessions/ses_1");
    expect(problemOf(response).code).toBe("method_not_allowed");
    expect(response.headers.allow).toBe("DELETE, GET, HEAD");
    expect((await edge.call(null, "DELETE", "/healthz")).headers.allow).toBe("GET, HEAD");
  });

  it("that can't be decoded is a 400", async () => {
    expect(problemOf(await edge.call(KEYS.red, "GET", "/v1/commands/%zz")).code).toBe("invalid_request");
  });
});

describe("a fault of the service", () => {
  const failing = async (error: unknown) => {
    edge.services.failNextWith(error);
    return edge.call(KEYS.red, "POST", url, { argv: ["ls"] });
  };

  it("that nobody foresaw is a 500 with a constant text, and is logged with its request id", async () => {
    const response = await failing(new Error("password=hunter2 at /srv/secret"));
    const problem = problemOf(response);
    expect(problem.code).toBe("internal");
    expect(response.body).not.toMatch(/hunter2|secret/);
    const line = edge.logLines.find((one) => one.level === "error");
    expect(line?.fields["request_id"]).toBe(response.headers["x-request-id"]);
  });

  it("of any thrown thing is a 500", async () => {
    for (const thing of [
      "text",
      null,
      undefined,
      5,
      { statusCode: 200 },
      { statusCode: 404, message: "x" },
    ]) {
      expect(problemOf(await failing(thing)).code).toBe("internal");
    }
  });

  it("of the store is a 503 with Retry-After and without its message", async () => {
    const response = await failing(new StoreUnavailable("redis://user:pw@host"));
    expect(problemOf(response).code).toBe("store_unavailable");
    expect(response.headers["retry-after"]).toBe("1");
    expect(response.body).not.toContain("redis");
  });

  it("says when to come again, rounded up to whole seconds", async () => {
    const limited = await failing(
      new BailiffError("rate_limited", "the limit of 5 is reached", {
        retryAfterMs: 1_200,
        extensions: { limit: 5 },
      }),
    );
    expect(limited.headers["retry-after"]).toBe("2");
    expect(problemOf(limited)).toMatchObject({
      code: "rate_limited",
      detail: "the limit of 5 is reached",
      limit: 5,
    });
    const full = await failing(new BailiffError("overloaded", "internal words", { retryAfterMs: 1 }));
    expect(full.headers["retry-after"]).toBe("1");
    expect(full.body).not.toContain("internal words");
  });

  it("can't replace the members of the problem by its extensions", async () => {
    const problem = problemOf(
      await failing(
        new BailiffError("conflict", "no", { extensions: { status: 200, code: "ok", extra: 1 } }),
      ),
    );
    expect(problem).toMatchObject({ status: 409, code: "conflict", extra: 1 });
  });
});

describe("every answer", () => {
  it("carries the secure headers and a request id of its own", async () => {
    const ids = new Set<unknown>();
    for (const [key, path] of [
      [KEYS.red, "/v1/sessions"],
      [null, "/healthz"],
      [null, "/nope"],
      [null, "/v1/sessions"],
      [null, "/v1/%zz"],
    ] as const) {
      const response = await edge.call(key, "GET", path, undefined, {
        "x-request-id": "mine",
        "request-id": "mine",
      });
      expect(response.headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "cache-control": "no-store",
      });
      expect(response.headers["x-request-id"]).toMatch(/^req_[0-9a-z]{26}$/);
      expect(response.headers["access-control-allow-origin"]).toBeUndefined();
      ids.add(response.headers["x-request-id"]);
    }
    expect(ids.size).toBe(5);
  });

  it("is logged by its route, never by its path or argv", async () => {
    await edge.call(KEYS.red, "POST", url, { argv: ["s3cret-argv"] });
    await edge.call(KEYS.red, "GET", "/v1/commands/s3cret-id?wait=1");
    const text = JSON.stringify(edge.logLines);
    expect(text).not.toContain("s3cret");
    expect(text).toContain("/v1/commands/:id");
  });
});
