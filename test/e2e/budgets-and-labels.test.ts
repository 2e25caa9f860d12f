import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, Answer, BailiffProcess, Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";

let installation: Installation;
let bailiff: BailiffProcess;

beforeAll(async () => {
  installation = await createInstallation({
    tenants: {
      daily: { dispatches_per_day: 2, wall_seconds_per_day: 1000 },
      timed: { wall_seconds_per_day: 3 },
    },
  });
  bailiff = await installation.start("all");
});
afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
});

/** Another session of an agent's tenant and workspace. */
async function openSession(agent: Agent, body: Record<string, unknown>): Promise<string> {
  const answer = await bailiff.call(agent.key, "POST", "/v1/sessions", {
    workspace_id: "main",
    grant: { level: "allow_all" },
    ...body,
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.session_id;
}

const submitTo = (agent: Agent, sessionId: string, body: Record<string, unknown>, wait = 60) =>
  bailiff.call(agent.key, "POST", `/v1/sessions/${sessionId}/commands`, body, { prefer: `wait=${wait}` });
const look = async (agent: Agent, sessionId: string) =>
  (await bailiff.call(agent.key, "GET", `/v1/sessions/${sessionId}`)).body;
const times = (n: number, make: (i: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: n }, (_, i) => make(i)));

describe("a budget", () => {
  test("of one dispatch starts one of 50 commands that are submitted at once", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "grants" });
    const sessionId = await openSession(agent, { grant: { level: "allow_all", dispatches: 1 } });
    const answers = await times(50, () =>
      submitTo(agent, sessionId, { argv: ["sh", "-c", "echo ran >> ledger"] }),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status, body } of answers) {
      if (status === 201) continue;
      expect([status, ["denied", "grant_exhausted"].includes(body.code)]).toEqual([403, true]);
    }
    const { body } = await agent.submit(["cat", "ledger"]);
    expect(body.stdout).toBe("ran\n");
  });

  test("of wall time is never overdrawn by 50 commands at once, and what they do not use comes back", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "walls" });
    const sessionId = await openSession(agent, { budget: { wall_seconds: 25 } });
    const answers = await times(50, () => submitTo(agent, sessionId, { argv: ["true"], timeout_s: 10 }, 0));
    const taken = answers.filter(({ status }) => status === 202);
    // Two whole timeouts and the rest of five seconds fit beside each other; more only once some have ended.
    expect(taken.length).toBeGreaterThanOrEqual(3);
    for (const { status, body, headers } of answers) {
      if (status === 202) continue;
      expect([status, body.code, headers.get("retry-after")]).toEqual([403, "budget_exhausted", null]);
    }
    const ends = await Promise.all(
      taken.map(({ body }) => bailiff.call(agent.key, "GET", `/v1/commands/${body.command_id}?wait=60`)),
    );
    const usedMs = ends.reduce((sum, { body }) => sum + Math.ceil(body.usage.wall_ms), 0);
    const { budget } = await look(agent, sessionId);
    expect(budget.wall_seconds_left).toBe((25_000 - usedMs) / 1000);
  });

  test("that is nearly used lowers a command's own time, and says so", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "lowered" });
    const sessionId = await openSession(agent, { budget: { wall_seconds: 1.5 } });
    const killed = await submitTo(agent, sessionId, { argv: ["sleep", "30"], timeout_s: 20 });
    expect(killed.body).toMatchObject({ outcome: "timed_out", timeout_s: 1.5 });
    expect((await look(agent, sessionId)).budget.wall_seconds_left).toBe(0);
    const refused = await submitTo(agent, sessionId, { argv: ["true"] });
    expect([refused.status, refused.body.code, refused.body.budget]).toEqual([
      403,
      "budget_exhausted",
      "wall_seconds",
    ]);
    const explained = await bailiff.call(agent.key, "POST", "/v1/policy/explain", {
      session_id: sessionId,
      argv: ["true"],
    });
    const layer = explained.body.decision.layers.find((each: { layer: string }) => each.layer === "budget");
    expect(layer).toMatchObject({ verdict: "deny", code: "budget_wall" });
  });

  test("of CPU time lowers it by the profile's CPUs, and is charged with what was used", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "cpus" });
    const sessionId = await openSession(agent, { budget: { cpu_seconds: 2 } });
    const { body } = await submitTo(agent, sessionId, { argv: ["true"], timeout_s: 20 });
    expect(body).toMatchObject({ outcome: "completed", timeout_s: 2 });
    const { budget } = await look(agent, sessionId);
    expect(budget.cpu_seconds_left).toBe((2_000 - Math.ceil(body.usage.cpu_ms)) / 1000);
  });

  test("of memory is the limit of the session's containers", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "memory" });
    const sessionId = await openSession(agent, { budget: { max_memory_bytes: 64 << 20 } });
    const argv = ["python3", "-c", "x = bytearray(200 * 2**20); print('fits')"];
    expect((await submitTo(agent, sessionId, { argv })).body).toMatchObject({ outcome: "out_of_memory" });
    expect((await agent.submit(argv)).body).toMatchObject({ outcome: "completed", stdout: "fits\n" });
  });

  test("of a tenant's day holds over all its sessions, with the quota's name and a time to come back", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "daily" });
    const other = await openSession(agent, {});
    expect((await agent.submit(["true"])).status).toBe(201);
    expect((await submitTo(agent, other, { argv: ["true"] })).status).toBe(201);
    const refused = await agent.submit(["true"]);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ code: "quota_exceeded", quota: "dispatches_per_day", limit: 2 });
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(86_400);
    const timed = await openAgent(installation, bailiff, { tenant: "timed" });
    expect((await timed.submit(["true"])).body).toMatchObject({ outcome: "completed", timeout_s: 3 });
  });

  test("asks no more than a denial does of a repeated submit: the key still finds its command", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "repeated" });
    const sessionId = await openSession(agent, { budget: { wall_seconds: 1 } });
    const submit = () =>
      bailiff.call(
        agent.key,
        "POST",
        `/v1/sessions/${sessionId}/commands`,
        { argv: ["sleep", "30"] },
        { prefer: "wait=30", "idempotency-key": "once" },
      );
    const first = await submit();
    expect(first.body.outcome).toBe("timed_out");
    const again = await submit();
    expect([again.status, again.body.command_id]).toEqual([200, first.body.command_id]);
  });
});

describe("revoking", () => {
  test("ends what is queued as denied and leaves what runs and the session to be read", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "revoked" });
    const running = await Promise.all(
      Array.from({ length: 4 }, () => submitTo(agent, agent.sessionId, { argv: ["sleep", "3"] }, 0)),
    );
    for (const { body } of running) {
      await expect
        .poll(
          async () => (await bailiff.call(agent.key, "GET", `/v1/commands/${body.command_id}`)).body.state,
          {
            timeout: 30_000,
          },
        )
        .toBe("dispatched");
    }
    const queued = await submitTo(agent, agent.sessionId, { argv: ["touch", "never"] }, 0);
    const revoked = await bailiff.call(agent.key, "POST", `/v1/sessions/${agent.sessionId}/revoke`);
    expect([revoked.status, revoked.body.grant.revoked]).toEqual([200, true]);
    expect((await submitTo(agent, agent.sessionId, { argv: ["true"] })).status).toBe(403);
    const end = await bailiff.call(agent.key, "GET", `/v1/commands/${queued.body.command_id}?wait=60`);
    expect(end.body).toMatchObject({
      state: "finished",
      outcome: "denied",
      effect: "none",
      container_id: null,
    });
    for (const { body } of running) {
      const ran = await bailiff.call(agent.key, "GET", `/v1/commands/${body.command_id}?wait=60`);
      expect(ran.body).toMatchObject({ outcome: "completed", returncode: 0 });
    }
    expect((await look(agent, agent.sessionId)).grant.revoked).toBe(true);
  });
});

describe("labels", () => {
  const put = (agent: Agent, objectId: string, label: Record<string, unknown>) =>
    bailiff.call(agent.key, "PUT", `/v1/sessions/${agent.sessionId}/objects/${objectId}`, label);
  const normal = { sensitivity: "normal", trust: "unknown", categories: [] };

  test("flow from what the agent read into its command, its session and every later command", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "flows" });
    expect((await agent.submit(["true"])).body.label).toEqual({ ...normal, sensitivity: "public" });
    expect((await put(agent, "notes", normal)).status).toBe(201);
    expect((await agent.submit(["true"], { source_objects: ["notes"] })).body).toMatchObject({
      outcome: "completed",
      source_objects: ["notes"],
      label: normal,
      decision: { effective_label: normal },
    });
    expect((await look(agent, agent.sessionId)).label).toEqual(normal);
    expect((await agent.submit(["true"])).body.label).toEqual(normal);
  });

  test("above a sink's clearance, or of an object that is not known, deny", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "cleared" });
    await put(agent, "keys", { ...normal, sensitivity: "secret" });
    for (const source_objects of [["keys"], ["unheard-of"]]) {
      const denied = await agent.submit(["true"], { source_objects });
      expect(denied.status).toBe(403);
      const layer = denied.body.decision.layers.find((each: { verdict: string }) => each.verdict === "deny");
      expect(layer.layer).toBe("data_flow");
    }
    // What was denied was not read by anything: the session is as it was.
    expect((await look(agent, agent.sessionId)).label.sensitivity).toBe("public");
    expect((await agent.submit(["true"])).status).toBe(201);
  });

  test("only rise, in the policy's words, and are no other tenant's", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "rising" });
    await put(agent, "report", normal);
    expect((await put(agent, "report", { ...normal, sensitivity: "confidential" })).status).toBe(200);
    const lowered = await put(agent, "report", normal);
    expect([lowered.status, lowered.body.code]).toEqual([409, "conflict"]);
    const path = `/v1/sessions/${agent.sessionId}/objects/report`;
    expect((await bailiff.call(agent.key, "GET", path)).body).toEqual({
      object_id: "report",
      ...normal,
      sensitivity: "confidential",
    });
    const unknown = await put(agent, "report", { sensitivity: "top", trust: "unknown", categories: ["x"] });
    expect([unknown.status, unknown.body.errors.map((each: { path: string }) => each.path)]).toEqual([
      400,
      ["/sensitivity", "/categories/0"],
    ]);
    const rival = await installation.key("rival");
    expect((await bailiff.call(rival, "GET", path)).status).toBe(404);
    expect((await bailiff.call(rival, "PUT", path, normal)).status).toBe(404);
  });

  test("that rise while a command waits can turn it into a denial at its dispatch", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "waiting" });
    await put(agent, "notes", normal);
    const running = await Promise.all(
      Array.from({ length: 4 }, () => submitTo(agent, agent.sessionId, { argv: ["sleep", "3"] }, 0)),
    );
    for (const { body } of running) {
      await expect
        .poll(
          async () => (await bailiff.call(agent.key, "GET", `/v1/commands/${body.command_id}`)).body.state,
          {
            timeout: 30_000,
          },
        )
        .toBe("dispatched");
    }
    const queued = await submitTo(
      agent,
      agent.sessionId,
      { argv: ["touch", "late"], source_objects: ["notes"] },
      0,
    );
    expect(queued.status).toBe(202);
    await put(agent, "notes", { ...normal, sensitivity: "secret" });
    const end = await bailiff.call(agent.key, "GET", `/v1/commands/${queued.body.command_id}?wait=60`);
    expect(end.body).toMatchObject({ outcome: "denied", effect: "none", container_id: null });
  });

  test("raised by many submits at once leave every one of them decided over the session it found", async () => {
    const agent = await openAgent(installation, bailiff, { tenant: "racing" });
    await Promise.all(Array.from({ length: 5 }, (_, i) => put(agent, `o${i}`, normal)));
    const answers = await times(20, (i) => agent.submit(["true"], { source_objects: [`o${i % 5}`] }));
    for (const { status, body } of answers) {
      expect(status, JSON.stringify(body)).toBe(201);
      expect(body.label).toEqual(normal);
    }
    expect((await look(agent, agent.sessionId)).label).toEqual(normal);
  });
});
