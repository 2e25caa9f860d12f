import fc from "fast-check";
import type { InjectOptions } from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { problemSchema } from "../../../../src/contract/problems.js";
import type { TestApp } from "../../../support/http/test-app.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

let edge: TestApp;
let session: string;
beforeAll(async () => {
  edge = await createTestApp();
  session = await edge.openSession();
});
afterAll(() => edge.app.close());

const text = fc.string({ unit: "binary", maxLength: 40 });
const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
  maxLength: 40,
});

/** Bodies near the real ones, with anything in each place. */
const nearBody = fc
  .record(
    {
      argv: fc.oneof(fc.array(text, { maxLength: 5 }), fc.jsonValue()),
      timeout_s: fc.oneof(fc.double(), fc.jsonValue()),
      max_stdout_chars: fc.oneof(fc.integer(), fc.jsonValue()),
      source_objects: fc.oneof(fc.array(text), fc.jsonValue()),
      reason: fc.oneof(text, fc.jsonValue()),
      workspace_id: fc.oneof(fc.constant("w1"), fc.jsonValue()),
      session_id: fc.oneof(text, fc.jsonValue()),
      path: fc.oneof(text, fc.jsonValue()),
      grant: fc.oneof(
        fc.dictionary(
          fc.constantFrom("level", "expires_at", "vectors", "executables", "dispatches"),
          fc.jsonValue(),
        ),
        fc.jsonValue(),
      ),
    },
    { requiredKeys: [] },
  )
  .map((body) => JSON.stringify(body));
const body = fc.oneof(nearBody, fc.json(), text);

const paths = fc.oneof(
  fc.constantFrom(
    "/v1/sessions",
    "/v1/policy/explain",
    "/v1/commands",
    "/v1/workspaces/w1",
    "/v1/commands/cmd_1",
    "/v1/commands/cmd_1/cancel",
  ),
  fc.constant("COMMANDS"),
  fc.constant("CWD"),
  fc.webPath().map((path) => `/${path.replace(/^\/+/, "")}`),
  text.map((part) => `/v1/sessions/${encodeURIComponent(part.toWellFormed())}/commands`),
);
const query = fc.oneof(
  fc.constant(""),
  fc.webQueryParameters().map((part) => `?${part}`),
  headerText.map((part) => `?wait=${encodeURIComponent(part)}`),
);

describe("hostile input", () => {
  it("is never a 500, and every refusal is a problem", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"),
        paths,
        query,
        body,
        fc.record(
          {
            "content-type": fc.oneof(fc.constant("application/json"), headerText),
            prefer: headerText,
            "idempotency-key": headerText,
            traceparent: headerText,
          },
          { requiredKeys: ["content-type"] },
        ),
        async (method, path, search, payload, headers) => {
          const url = path
            .replace("COMMANDS", `/v1/sessions/${session}/commands`)
            .replace("CWD", `/v1/sessions/${session}/cwd`);
          const response = await edge.app.inject({
            method: method as NonNullable<InjectOptions["method"]>,
            url: `${url}${search}`,
            headers: { ...headers, authorization: `Bearer ${KEYS.red}` },
            payload,
          });
          expect(response.statusCode).toBeLessThan(500);
          if (response.statusCode < 400) return;
          expect(response.headers["content-type"]).toBe("application/problem+json");
          const problem = problemSchema.parse(response.json());
          expect(problem.status).toBe(response.statusCode);
          expect(response.body.length).toBeLessThan(20_000);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("does not reach the prototype of anything", async () => {
    for (const payload of [
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"argv":["a"],"__proto__":{"polluted":1}}',
    ]) {
      await edge.call(KEYS.red, "POST", `/v1/sessions/${session}/commands`, payload);
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("of the size limit is answered small, whatever it is full of", async () => {
    const bodies = [
      `{"argv":[${"1,".repeat(1_000_000)}1]}`,
      `{"workspace_id":"w1","grant":{"vectors":[${"{},".repeat(600_000)}{}]}}`,
      `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join()}}`,
      `{"argv":"${"\\u0000".repeat(300_000)}"}`,
    ];
    for (const payload of bodies) {
      const path = payload.includes("grant") ? "/v1/sessions" : `/v1/sessions/${session}/commands`;
      const response = await edge.call(KEYS.red, "POST", path, payload);
      expect(response.statusCode).toBe(400);
      expect(response.body.length).toBeLessThan(3_000);
    }
  });
});
