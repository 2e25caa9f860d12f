import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SLOW_ARGV0 } from "../../../support/http/in-memory-services.js";
import type { TestApp } from "../../../support/http/test-app.js";
import { createTestApp, KEYS } from "../../../support/http/test-app.js";

let edge: TestApp;
let origin: string;
let session: string;
beforeEach(async () => {
  edge = await createTestApp();
  origin = await edge.app.listen({ host: "127.0.0.1", port: 0 });
  session = await edge.openSession();
});
afterEach(() => edge.app.close());

const submitSlow = (signal?: AbortSignal) =>
  fetch(`${origin}/v1/sessions/${session}/commands?wait=60`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEYS.red}`, "content-type": "application/json" },
    body: JSON.stringify({ argv: [SLOW_ARGV0] }),
    ...(signal === undefined ? {} : { signal }),
  });

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("a client that goes away", () => {
  it("ends its wait and never its command", async () => {
    const leaving = new AbortController();
    const request = submitSlow(leaving.signal).catch(() => "left");
    await until(() => edge.services.commands.size === 1);
    leaving.abort();
    expect(await request).toBe("left");
    await until(() => edge.services.abortedWaits() === 1);
    const [record] = edge.services.commands.values();
    expect(record).toMatchObject({ state: "dispatched", cancelRequested: false });
    expect(edge.logLines.filter((line) => line.level === "error")).toEqual([]);
  });
});

describe("closing", () => {
  it("ends the waits with a 202 at once and answers them", async () => {
    const request = submitSlow();
    await until(() => edge.services.commands.size === 1);
    const closed = edge.app.close();
    const response = await request;
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ state: "dispatched", cancel_requested: false });
    await closed;
  });
});

describe("bytes that are no request", () => {
  const exchange = async (bytes: string) => {
    const socket = connect(Number(new URL(origin).port), "127.0.0.1");
    await once(socket, "connect");
    socket.write(bytes);
    return text(socket);
  };

  it("are answered by a problem that quotes none of them", async () => {
    const answer = await exchange("s3cret nonsense\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toContain("content-type: application/problem+json");
    expect(answer).toContain('"code":"invalid_request"');
    expect(answer).not.toContain("s3cret");
  });

  it("and headers without end are a 431", async () => {
    const answer = await exchange(`GET /healthz HTTP/1.1\r\nHost: x\r\nx: ${"y".repeat(40_000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe("the server", () => {
  it("bounds how long a client may take to send a request, and keeps connections alive", () => {
    expect(edge.app.server).toMatchObject({
      headersTimeout: 15_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 75_000,
    });
  });
});
