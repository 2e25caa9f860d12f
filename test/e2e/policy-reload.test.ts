import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createInstallation, type Installation, openAgent } from "../support/bailiff.js";
import { metricValue } from "../support/crash/metric-value.js";
import { type RedisServer, startRedisServer } from "../support/redis-server.js";
import { until } from "../support/until.js";

let redis: RedisServer;
let installation: Installation;
let path: string;

beforeAll(async () => {
  redis = await startRedisServer();
  installation = await createInstallation({ redis: { url: redis.url } });
  path = join(installation.directory, "policy.yaml");
});
afterAll(async () => {
  await installation?.remove();
  await redis?.stop();
});

const write = (decision: string) =>
  writeFile(
    path,
    `version: 1
rules:
  - id: tool
    decision: ${decision}
    pattern: [tool]
    reason: A rule of this test
    justification: Shows which document is in force
    match: [[tool], [tool, x]]
    not_match: [[other], [other, tool]]
`,
  );

test("a running service takes a new policy on SIGHUP, and keeps the old one behind a bad one, which is seen", async () => {
  await write("ask");
  const api = await installation.start("api", { policy: { files: [path] } });
  const agent = await openAgent(installation, api, { grant: { level: "allowlist" } });
  const explained = async () => {
    const body = { session_id: agent.sessionId, argv: ["tool"] };
    return (await api.call(agent.key, "POST", "/v1/policy/explain", body)).body.decision;
  };
  const readiness = async () => (await api.call(agent.key, "GET", "/readyz")).body;
  const first = await explained();
  expect(first.verdict).toBe("ask");

  await write("deny");
  api.child.kill("SIGHUP");
  await until(async () => (await explained()).verdict === "deny");
  const second = await explained();
  expect(second.policy_version).not.toBe(first.policy_version);
  expect((await readiness()).checks.policy).toEqual({ ok: true, detail: null });

  await write("maybe");
  api.child.kill("SIGHUP");
  await until(async () => (await readiness()).checks.policy.detail !== null);
  const { ready, checks } = await readiness();
  expect([ready, checks.policy.ok]).toEqual([true, true]);
  expect(checks.policy.detail).toMatch(/policy\.yaml:\d+:\d+: \[tool\]/);
  const anybody = (await (await fetch(`${api.url}/readyz`)).json()) as { checks: Record<string, unknown> };
  expect(anybody.checks["policy"]).toEqual({
    ok: true,
    detail: "the newest policy is refused; the old one is in force",
  });
  expect((await explained()).policy_version).toBe(second.policy_version);
  expect(await metricValue(api, agent.key, /^bailiff_policy_problem /)).toBe(1);
  expect(await api.log()).toContain("the new policy is refused; the old one stays in force");
});
