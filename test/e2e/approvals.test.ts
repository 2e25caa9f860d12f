import { access, mkdir, readFile, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { readTestEnvironment } from "../support/environment.js";
import { type RedisServer, startRedisServer } from "../support/redis-server.js";
import { until } from "../support/until.js";

const DEFAULT_POLICY = new URL("../../policy/default.yaml", import.meta.url);

let redis: RedisServer;

let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;
let reviewer: string;
let policyPath: string;

beforeAll(async () => {
  redis = await startRedisServer();
  installation = await createInstallation({ redis: { url: redis.url } });
  policyPath = join(installation.directory, "policy.yaml");
  await writePolicy("");
  bailiff = await installation.start("all", { policy: { files: [policyPath] } });
  agent = await openAgent(installation, bailiff, { grant: { level: "allowlist" } });
  reviewer = await installation.key("acme", ["approvals:read", "approvals:decide"], "reviewer");
});
afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
  await redis?.stop();
});

/** The default policy with a sink that takes data only with a person's release, and further rules. */
async function writePolicy(rules: string) {
  const { sandboxImageId } = readTestEnvironment();
  const sink = `{ id: head, executables: [head], trust: conditional, image_digests: ["${sandboxImageId}"], max_sensitivity: restricted, reason: shows }`;
  const text = await readFile(DEFAULT_POLICY, "utf8");
  await writeFile(
    policyPath,
    text.replace("\nsinks: []\n", `\nsinks: [${sink}]\n`).replace("\nrules:\n", `\nrules:\n${rules}`),
  );
}
const write = (name: string, text: string) => writeFile(join(agent.directory, name), text, { mode: 0o755 });

async function ask(argv: readonly string[], more: Record<string, unknown> = {}) {
  const { status, body } = await agent.submit(argv, more);
  expect([status, body.state], JSON.stringify(body)).toEqual([202, "awaiting_approval"]);
  return body;
}
const exists = (name: string) =>
  access(join(agent.directory, name)).then(
    () => true,
    () => false,
  );
const decide = (id: string, decision: "approve" | "deny", key = reviewer) =>
  bailiff.call(key, "POST", `/v1/approvals/${id}/decision`, { decision });
const end = async (id: string) => (await bailiff.call(agent.key, "GET", `/v1/commands/${id}?wait=60`)).body;

describe("an approval", () => {
  test("runs exactly what was approved, once, after a yes of somebody else (FB-35)", async () => {
    await write("once.sh", "echo ran >> ledger; cat ledger; exit 3\n");
    const asked = await ask(["sh", "once.sh"]);
    expect(asked.approval.expires_at).toMatch(/^20/);
    expect(asked.approval.rendering.text).toContain('["sh","once.sh"]');
    expect(asked.approval_id).toBe(asked.approval.approval_id);
    expect((await decide(asked.approval_id, "approve", agent.key)).status).toBe(409);
    const yeses = await Promise.all(Array.from({ length: 50 }, () => decide(asked.approval_id, "approve")));
    expect(yeses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 49 }, () => 409)]);
    const done = await end(asked.command_id);
    expect([done.returncode, done.stdout, done.approval.state]).toEqual([3, "ran\n", "consumed"]);
    expect((await decide(asked.approval_id, "approve")).body.approval_state).toBe("consumed");
  });

  test("is joined by 50 submits of the same request, whatever the order of its keys (FB-34, FB-35)", async () => {
    await write("joined.sh", "echo joined\n");
    const submits = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        agent.submit(
          ["sh", "joined.sh"],
          i % 2 === 0 ? { timeout_s: 5, reason: "r" } : { reason: "r", timeout_s: 5 },
        ),
      ),
    );
    expect(new Set(submits.map(({ status, body }) => `${status} ${body.command_id}`)).size).toBe(1);
    const first = submits[0]?.body;
    for (const [argv, timeout_s] of [
      [["sh", "joined.sh", "x"], 5],
      [["sh", "joined.sh"], 6],
    ] as const) {
      const other = await ask(argv, { timeout_s });
      expect(other.approval_id).not.toBe(first.approval_id);
      await decide(other.approval_id, "deny");
    }
    const denied = await decide(first.approval_id, "deny");
    expect([denied.status, denied.body.state]).toEqual([200, "denied"]);
    expect(await end(first.command_id)).toMatchObject({ outcome: "approval_denied", effect: "none" });
  });

  test("is void once the script is another one: changed, gone or swapped for a link (FB-34)", async () => {
    const changes: [string, () => Promise<void>][] = [
      ["changed.sh", () => write("changed.sh", "echo evil\n")],
      ["gone.sh", () => unlink(join(agent.directory, "gone.sh"))],
      [
        "swapped.sh",
        async () => {
          await write("evil.sh", "echo evil\n");
          await unlink(join(agent.directory, "swapped.sh"));
          await symlink("evil.sh", join(agent.directory, "swapped.sh"));
        },
      ],
    ];
    for (const [name, change] of changes) {
      await write(name, "echo good\n");
      const asked = await ask(["sh", name]);
      await change();
      expect((await decide(asked.approval_id, "approve")).status).toBe(200);
      const done = await end(asked.command_id);
      expect([done.outcome, done.effect, done.detail], name).toEqual([
        "denied",
        "none",
        "at dispatch: the approved request changed",
      ]);
      expect(done.approval.state).toBe("void");
    }
  });

  test("is void once the session's directory leads elsewhere (FB-34)", async () => {
    await mkdir(join(agent.directory, "one"));
    await mkdir(join(agent.directory, "two"));
    await symlink("one", join(agent.directory, "here"));
    const cwd = (path: string) =>
      bailiff.call(agent.key, "PUT", `/v1/sessions/${agent.sessionId}/cwd`, { path });
    expect((await cwd("here")).status).toBe(200);
    const asked = await ask(["sh", "-c", "pwd"]);
    await cwd("/workspace");
    await unlink(join(agent.directory, "here"));
    await symlink("two", join(agent.directory, "here"));
    await decide(asked.approval_id, "approve");
    expect((await end(asked.command_id)).detail).toBe("at dispatch: the approved request changed");
  });

  test("is not asked for where no one could say what would run", async () => {
    await mkdir(join(agent.directory, "folder.sh"));
    const { status, body } = await agent.submit(["sh", "folder.sh"]);
    expect([status, body.code]).toEqual([403, "denied"]);
    expect(body.decision.layers.at(-2)).toMatchObject({ layer: "approval", code: "approval_not_bindable" });
  });

  test("is used up by a run that fails or can't start, and the same request asks again (FB-35)", async () => {
    await write("fails.sh", "#!/bin/sh\nexit 9\n");
    await write("cannot.sh", "#!/no/such/interpreter\n");
    for (const [name, outcome] of [
      ["./fails.sh", "completed"],
      ["./cannot.sh", "start_failed"],
    ] as const) {
      const asked = await ask([name]);
      expect((await decide(asked.approval_id, "approve")).status).toBe(200);
      const done = await end(asked.command_id);
      expect([done.outcome, done.approval.state]).toEqual([outcome, "consumed"]);
      const again = await ask([name]);
      expect(again.approval_id).not.toBe(asked.approval_id);
      expect((await decide(again.approval_id, "deny")).status).toBe(200);
    }
  });

  test("comes too late once its time is over, and nothing runs (FB-35)", async () => {
    await write("late.sh", "touch late-ran\n");
    const hasty = await installation.start("api", {
      policy: { files: [policyPath] },
      limits: { approval_expiry_ms: 1_000 },
    });
    const { body } = await hasty.call(agent.key, "POST", `/v1/sessions/${agent.sessionId}/commands`, {
      argv: ["sh", "late.sh"],
    });
    expect(body.state).toBe("awaiting_approval");
    await until(async () => Date.now() > Date.parse(body.approval.expires_at));
    const late = await decide(body.approval_id, "approve");
    expect([late.status, late.body.code, late.body.approval_state]).toEqual([409, "conflict", "expired"]);
    expect(await end(body.command_id)).toMatchObject({
      outcome: "approval_expired",
      effect: "none",
      container_id: null,
      approval: { state: "expired" },
    });
    expect(await exists("late-ran")).toBe(false);
    await hasty.stop();
  });

  test("is worth nothing where the policy denies by the time of the yes (FB-35)", async () => {
    await write("turned.sh", "touch turned-ran\n");
    const asked = await ask(["sh", "turned.sh"]);
    await writePolicy(
      "  - { id: turned, decision: deny, pattern: [sh, turned.sh], reason: not any more, justification: Of this test, match: [[sh, turned.sh]], not_match: [[sh, x]] }\n",
    );
    bailiff.child.kill("SIGHUP");
    await until(async () => {
      const explained = { session_id: agent.sessionId, argv: ["sh", "turned.sh"] };
      const { body } = await bailiff.call(agent.key, "POST", "/v1/policy/explain", explained);
      return body.decision.verdict === "deny";
    });
    expect((await decide(asked.approval_id, "approve")).status).toBe(200);
    expect(await end(asked.command_id)).toMatchObject({
      outcome: "denied",
      effect: "none",
      container_id: null,
      approval: { state: "void" },
    });
    expect(await exists("turned-ran")).toBe(false);
  });

  test("releases data to a conditional sink once, under its label, which stays with the session", async () => {
    const open = await openAgent(installation, bailiff, { workspace: "released" });
    const put = (id: string, sensitivity: string) =>
      bailiff.call(open.key, "PUT", `/v1/sessions/${open.sessionId}/objects/${id}`, {
        sensitivity,
        trust: "unknown",
        categories: [],
      });
    const head = async () => {
      const { status, body } = await open.submit(["head", "report"], { source_objects: ["report"] });
      expect([status, body.state], JSON.stringify(body)).toEqual([202, "awaiting_approval"]);
      return body;
    };
    await writeFile(join(open.directory, "report"), "figures\n");
    expect((await put("report", "confidential")).status).toBe(201);
    const asked = await head();
    expect(asked.approval.rendering.why).toMatchObject([
      { code: "sink_release" },
      { code: "approval_needed" },
    ]);
    expect((await decide(asked.approval_id, "approve")).status).toBe(200);
    expect(await end(asked.command_id)).toMatchObject({
      outcome: "completed",
      stdout: "figures\n",
      label: { sensitivity: "confidential" },
      approval: { state: "consumed" },
    });
    // What has left is in whatever comes after: a program without a sink is not cleared for it.
    expect((await open.submit(["cat", "report"])).body.code).toBe("denied");
    // A release is for one command, and for no higher label than the one that was shown.
    const second = await head();
    expect((await put("report", "restricted")).status).toBe(200);
    expect((await decide(second.approval_id, "approve")).status).toBe(200);
    expect(await end(second.command_id)).toMatchObject({
      outcome: "denied",
      effect: "none",
      detail: "at dispatch: the approved request changed",
      approval: { state: "void" },
    });
  });
});
