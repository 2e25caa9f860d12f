import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestApp } from "../../../support/http/test-app.js";
import { createTestApp } from "../../../support/http/test-app.js";

interface Operation {
  readonly operationId?: string;
  readonly security?: unknown;
  readonly responses: Readonly<
    Record<string, { description: string; content?: Readonly<Record<string, { schema: { $ref?: string } }>> }>
  >;
}

let edge: TestApp;
let text: string;
let document: {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
};
beforeAll(async () => {
  edge = await createTestApp();
  text = (await edge.call(null, "GET", "/openapi.json")).body;
  document = JSON.parse(text);
});
afterAll(() => edge.app.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );

describe("/openapi.json", () => {
  it("is a valid OpenAPI 3.1 document", async () => {
    expect(document.openapi).toBe("3.1.0");
    expect(await new Validator().validate(JSON.parse(text))).toMatchObject({ valid: true });
  });

  it("has every route, and no other", () => {
    const routes = edge.routes.entries
      .filter(
        (route) => route.method !== "HEAD" && !route.url.startsWith("/docs") && route.url !== "/openapi.json",
      )
      .map((route) => `${route.method} ${route.url.replaceAll(/:([a-z_]+)/g, "{$1}")}`);
    expect(
      operations()
        .map((one) => one.name)
        .sort(),
    ).toEqual(routes.sort());
  });

  it("names every operation once, types every answer and says which need a key", () => {
    const names = operations().map((one) => one.operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(names).not.toContain(undefined);
    for (const { name, operation } of operations()) {
      const isPublic = /\/(healthz|readyz)$/.test(name);
      expect(operation.security, name).toEqual(isPublic ? undefined : [{ bearer: [] }]);
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(response.description, `${name} ${status}`).not.toBe("Default Response");
        if (status === "204") continue;
        const [[type, media] = ["", { schema: {} }]] = Object.entries(response.content ?? {});
        expect(media.schema, `${name} ${status}`).not.toEqual({});
        if (Number(status) >= 400 && !isPublic) {
          expect([type, media.schema.$ref]).toEqual([
            "application/problem+json",
            "#/components/schemas/Problem",
          ]);
        }
      }
      if (!isPublic)
        expect(Object.keys(operation.responses)).toEqual(
          expect.arrayContaining(["400", "401", "403", "500", "503"]),
        );
    }
  });

  it("refers to nothing that is missing", () => {
    const referred = [...text.matchAll(/"#\/components\/schemas\/([A-Za-z]+)"/g)].map(
      (match) => match[1] ?? "",
    );
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(referred));
  });

  it("says the bounds of a submission", () => {
    expect(text).toContain('"maxItems":4096');
    expect(text).toContain('"maxLength":131071');
    expect(text).toContain('"exclusiveMinimum":0,"maximum":300');
  });

  it("is the same for two apps in one process", async () => {
    const second = await createTestApp();
    expect((await second.call(null, "GET", "/openapi.json")).body).toBe(text);
    await second.app.close();
  });
});

describe("/docs", () => {
  it("is a page of this process's own files under a policy that forbids all others", async () => {
    const page = await edge.call(null, "GET", "/docs");
    expect(page.statusCode).toBe(200);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.headers["content-security-policy"]).toContain("script-src 'self';");
    expect(page.body).not.toMatch(/<script>|https?:\/\//);
    const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
    expect(assets.length).toBeGreaterThan(4);
    for (const asset of assets) expect((await edge.call(null, "GET", asset)).statusCode, asset).toBe(200);
    expect((await edge.call(null, "GET", "/docs/json")).json()).toEqual(JSON.parse(text));
  });

  it("serves no file but its own", async () => {
    for (const path of [
      "/docs/static/..%2f..%2fpackage.json",
      "/docs/static/%2e%2e/index.js",
      "/docs/static/.env",
    ]) {
      expect((await edge.call(null, "GET", path)).statusCode).toBeGreaterThanOrEqual(400);
    }
  });
});
