import { mkdir, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";

let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;
let reviewer: string;

beforeAll(async () => {
  installation = await createInstallation();
  bailiff = await installation.start("all");
  agent = await openAgent(installation, bailiff, { grant: { level: "allowlist" } });
  reviewer = await installation.key("acme", ["approvals:read", "approvals:decide"], "reviewer");
});
afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
});

const write = (name: string, text: string) => writeFile(join(agent.directory, name), text, { mode: 0o755 });

async function ask(argv: readonly string[], more: Record<string, unknown> = {}) {
  const { status, body } = await agent.submit(argv, more);
  expect([status, body.state], JSON.stringify(body)).toEqual([202, "awaiting_approval"]);
  return body;
}
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
});
