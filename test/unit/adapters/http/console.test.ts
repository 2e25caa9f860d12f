import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConsoleFiles } from "../../../../src/adapters/http/console-files.js";
import { problemOf } from "../../../support/http/problem-of.js";
import { createTestApp, KEYS, type TestApp } from "../../../support/http/test-app.js";
import { createScratchDirectory } from "../../../support/scratch-directory.js";

const PAGE = "<!doctype html><title>Bailiff</title>";
let edge: TestApp;
let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;

beforeAll(async () => {
  scratch = await createScratchDirectory();
  await mkdir(join(scratch.path, "assets"));
  await writeFile(join(scratch.path, "index.html"), PAGE);
  await writeFile(join(scratch.path, "assets", "index-abc123.js"), "void 0;");
  await writeFile(join(scratch.path, "assets", "index-abc123.js.map"), "{}");
  edge = await createTestApp({ console: await readConsoleFiles(scratch.path) });
});
afterAll(async () => {
  await edge.app.close();
  await scratch.remove();
});

const get = (url: string, headers: Record<string, string> = {}) =>
  edge.call(null, "GET", url, undefined, headers);

describe("/console", () => {
  it.each(["/console", "/console/"])(
    "is a page without a key, under a policy without exceptions: %s",
    async (url) => {
      const response = await get(url);
      expect([response.statusCode, response.body]).toEqual([200, PAGE]);
      const policy = String(response.headers["content-security-policy"]);
      expect(policy).toMatch(
        /default-src 'none'.*frame-ancestors 'none'.*require-trusted-types-for 'script'/,
      );
      expect(policy).not.toMatch(/unsafe|https?:|\*|data:|blob:/);
      expect(response.headers).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
      });
      const again = await get(url, { "if-none-match": String(response.headers["etag"]) });
      expect([again.statusCode, again.body]).toEqual([304, ""]);
    },
  );

  it("has files whose names change with their content, to be kept for good", async () => {
    const response = await get("/console/assets/index-abc123.js", { "accept-encoding": "br;q=1, gzip" });
    expect(response.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "content-encoding": "gzip",
      "cache-control": "public, max-age=31536000, immutable",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    expect(gunzipSync(response.rawPayload).toString()).toBe("void 0;");
    for (const header of ["", "identity", "gzip;q=0", "x-gzipped"]) {
      const plain = await get("/console/assets/index-abc123.js", { "accept-encoding": header });
      expect([plain.headers["content-encoding"], plain.body], header).toEqual([undefined, "void 0;"]);
    }
  });

  it.each([
    "index-abc123.js.map",
    "..%2findex.html",
    "..%2f..%2f..%2fetc%2fpasswd",
    "constructor",
    "none.js",
  ])("has no other file: %s", async (name) =>
    expect(problemOf(await get(`/console/assets/${name}`)).code).toBe("not_found"),
  );

  it("is where / leads a browser, and nobody else", async () => {
    const browser = await get("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([browser.statusCode, browser.headers["location"]]).toEqual([302, "/console"]);
    expect(problemOf(await get("/", { accept: "application/json" })).code).toBe("not_found");
    expect(problemOf(await get("/")).code).toBe("not_found");
  });

  it("is not there where none was built", async () => {
    expect(await readConsoleFiles(join(scratch.path, "nothing"))).toBeNull();
    const bare = await createTestApp();
    expect(problemOf(await bare.call(null, "GET", "/console")).code).toBe("not_found");
    await bare.app.close();
  });
});

describe("/v1/principal", () => {
  it("tells a key whose it is and what it may do", async () => {
    expect((await edge.call(KEYS.redReader, "GET", "/v1/principal")).json()).toEqual({
      principal_id: "red-reader",
      tenant: "red",
      scopes: ["commands:read", "sessions:read"],
    });
    expect(problemOf(await get("/v1/principal")).code).toBe("unauthenticated");
  });
});
