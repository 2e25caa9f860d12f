import { afterEach, expect, test } from "vitest";
import { buildProbeApp } from "../../../../src/adapters/http/probe-app.js";

let ready = true;
const app = buildProbeApp({
  services: {
    readiness: async () => ({
      ready,
      checks: {
        worker: {
          ok: ready,
          detail: ready ? null : "fetches nothing",
          operatorDetail: ready ? null : "fetches nothing",
        },
        policy: { ok: true, detail: "refused", operatorDetail: "a secret of a file" },
      },
    }),
  },
  metricsText: async () => "bailiff_commands_lost_total 3\n",
});

afterEach(() => {
  ready = true;
});

test("a worker's probe tells health, readiness and metrics without a key, and nothing else", async () => {
  expect((await app.inject("/healthz")).json()).toEqual({ status: "ok" });
  const readiness = await app.inject({ url: "/readyz", headers: { authorization: "Bearer x" } });
  expect(readiness.statusCode).toBe(200);
  expect(readiness.json().checks.policy.detail).toBe("refused");
  const metrics = await app.inject("/metrics");
  expect(metrics.headers["content-type"]).toContain("text/plain");
  expect(metrics.body).toBe("bailiff_commands_lost_total 3\n");
  for (const path of ["/v1/sessions", "/docs", "/"]) expect((await app.inject(path)).statusCode).toBe(404);
});

test("a worker that is not ready says why, with a status that probes understand", async () => {
  ready = false;
  const answer = await app.inject("/readyz");
  expect(answer.statusCode).toBe(503);
  expect(answer.json()).toMatchObject({ ready: false, checks: { worker: { detail: "fetches nothing" } } });
});

test("a body is refused unread", async () => {
  const answer = await app.inject({ method: "POST", url: "/healthz", payload: "x".repeat(100) });
  expect(answer.statusCode).toBeGreaterThanOrEqual(400);
});
