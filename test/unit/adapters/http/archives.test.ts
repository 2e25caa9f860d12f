import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BailiffError } from "../../../../src/domain/errors.js";
import { problemOf } from "../../../support/http/problem-of.js";
import { createTestApp, KEYS, type TestApp } from "../../../support/http/test-app.js";
import { rawTar } from "../../../support/tar-bytes.js";
import { until } from "../../../support/until.js";

const PATH = "/v1/workspaces/w1/archive";
/** More than any other route takes. */
const LARGE = rawTar({ name: "large", body: Buffer.alloc(6 << 20, 7) });

let edge: TestApp;
let origin: string;
beforeEach(async () => {
  edge = await createTestApp();
  origin = await edge.app.listen({ host: "127.0.0.1", port: 0 });
  await edge.openSession();
});
afterEach(() => edge.app.close());

/** A real request: what is injected has no connection. */
async function put(body: Buffer, headers: Record<string, string> = {}, key: string = KEYS.red, path = PATH) {
  const response = await fetch(`${origin}${path}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/x-tar", ...headers },
    body,
  });
  return [response.status, await response.json()] as const;
}

async function get(key: string) {
  const response = await fetch(`${origin}${PATH}`, { headers: { authorization: `Bearer ${key}` } });
  return [response.status, await response.json()] as const;
}

function begin(path: string, type: string, key = KEYS.red): Socket {
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.write(
    `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\nContent-Length: 1024\r\nConnection: close\r\n\r\n`,
  );
  return socket;
}

describe("an archive", () => {
  it("goes in and out byte for byte, whatever the bound of other bodies", async () => {
    expect(await put(LARGE)).toEqual([200, { entries: 1, bytes: LARGE.length }]);
    const back = await fetch(`${origin}${PATH}`, { headers: { authorization: `Bearer ${KEYS.red}` } });
    expect(back.headers.get("content-type")).toBe("application/x-tar");
    expect(Buffer.from(await back.arrayBuffer()).equals(LARGE)).toBe(true);
    const other = await edge.call(KEYS.red, "PUT", "/v1/workspaces/w1", `"${"x".repeat(3 << 20)}"`);
    expect(problemOf(other).code).toBe("payload_too_large");
  });

  it("is taken as application/x-tar alone, not compressed, and by no other route", async () => {
    const small = rawTar({ name: "a" });
    for (const headers of [
      { "content-type": "application/json" },
      { "content-type": "application/gzip" },
      { "content-encoding": "gzip" },
    ] as Record<string, string>[]) {
      const detail = "an archive is taken as application/x-tar only, not compressed";
      expect(await put(small, headers)).toMatchObject([415, { code: "unsupported_media_type", detail }]);
    }
    expect((await put(small, {}, KEYS.red, "/v1/workspaces/w1"))[0]).toBe(415);
  });

  it("needs the scope and the tenant of its workspace", async () => {
    const small = rawTar({ name: "a" });
    for (const call of [(key: string) => put(small, {}, key), get]) {
      expect(await call(KEYS.redReader)).toMatchObject([403, { code: "insufficient_scope" }]);
      expect(await call(KEYS.blue)).toMatchObject([404, { code: "not_found" }]);
    }
  });

  it("that is refused while it is still being sent gets its answer", async () => {
    edge.services.failNextWith(
      new BailiffError("payload_too_large", 'entry "a": too large', { extensions: { entry: "a" } }),
    );
    expect(await put(LARGE)).toMatchObject([413, { code: "payload_too_large", entry: "a" }]);
  });

  it("whose sender goes away ends as an error for whoever reads it, and logs none", async () => {
    const socket = begin(PATH, "application/x-tar");
    socket.write(Buffer.alloc(512));
    await until(async () => edge.services.openUploads() === 1);
    socket.destroy();
    await until(async () => edge.services.openUploads() === 0);
    expect(edge.logLines.filter((line) => line.level === "error")).toEqual([]);
  });

  it("may take longer to arrive than other requests", async () => {
    edge.app.server.requestTimeout = 300;
    edge.app.server.headersTimeout = 300;
    const archive = begin(PATH, "application/x-tar");
    archive.write(Buffer.alloc(512));
    await until(async () => edge.services.openUploads() === 1);
    // Begun later and ended for its length in time: by then the archive has been looked at too.
    expect(await text(begin("/v1/workspaces/w1", "application/json"))).toContain("408");
    archive.write(Buffer.alloc(512));
    expect(await text(archive)).toContain("HTTP/1.1 200");
  });

  it("whose time is over is cut off, however slowly its reader takes it", async () => {
    const over = new AbortController();
    let isClosed = false;
    edge.services.sendArchive = async () => ({
      until: over.signal,
      chunks: (async function* () {
        try {
          for (;;) yield Buffer.alloc(65_536);
        } finally {
          isClosed = true;
        }
      })(),
    });
    const response = await fetch(`${origin}${PATH}`, { headers: { authorization: `Bearer ${KEYS.red}` } });
    expect(response.status).toBe(200);
    over.abort();
    await until(async () => isClosed);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  it("is cut off by a shutdown, which does not wait for it", async () => {
    const socket = begin(PATH, "application/x-tar");
    socket.on("error", () => undefined);
    await until(async () => edge.services.openUploads() === 1);
    await edge.app.close();
    expect(edge.services.openUploads()).toBe(0);
  });
});
