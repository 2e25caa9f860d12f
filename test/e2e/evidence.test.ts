import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { CLI, createInstallation, openAgent } from "../support/bailiff.js";
import { until } from "../support/until.js";

const PAGE = fileURLToPath(new URL("../../docs/evidence.md", import.meta.url));

let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;
let keyPath: string;
let publicKeyPath: string;
let filePath: string;

const cli = (...args: string[]) =>
  new Promise<{ status: number; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: process.env["PATH"], BAILIFF_API_KEY_FILE: keyPath };
    execFile(process.execPath, [CLI, ...args], { env }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
const verify = (source: string, ...more: string[]) =>
  cli("audit", "verify", source, "--public-key", publicKeyPath, ...more);
const evidenceOf = async (commandId: string) => {
  const path = `/v1/commands/${commandId}/evidence`;
  await until(async () => (await bailiff.call(agent.key, "GET", path)).body.complete === true);
  return (await bailiff.call(agent.key, "GET", path)).body;
};
/** Until everything is in the file and signed. */
const untilSettled = () =>
  until(async () => {
    const [page, file] = await Promise.all([
      bailiff.call(agent.key, "GET", "/v1/audit?limit=200"),
      readFile(filePath, "utf8").catch(() => ""),
    ]);
    const last = page.body.records.at(-1)?.hash;
    const seal = page.body.checkpoints.at(-1)?.checkpoint.hash;
    return last !== undefined && last === seal && file.includes(`"hash":"${last}"`) && file.endsWith("}\n");
  });

beforeAll(async () => {
  installation = await createInstallation({ evidence: { checkpoint_records: 3, checkpoint_ms: 1_000 } });
  bailiff = await installation.start("all");
  agent = await openAgent(installation, bailiff);
  keyPath = join(installation.directory, "api-key");
  publicKeyPath = join(installation.directory, "evidence.pub");
  filePath = join(installation.directory, "evidence", "acme.jsonl");
  await writeFile(keyPath, agent.key, { mode: 0o600 });
  const printed = await cli("audit", "public-key", "--config", join(installation.directory, "config-1.yaml"));
  await writeFile(publicKeyPath, printed.stdout);
});

afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
});

describe("evidence", () => {
  test("is left by every command: what ran, and what was denied", async () => {
    const ran = await agent.submit(["printf", "hello"]);
    const { records } = await evidenceOf(ran.body.command_id);
    expect(records.map(({ record }: { record: { kind: string } }) => record.kind)).toEqual([
      "admitted",
      "finished",
    ]);
    expect(records[1].record).toMatchObject({
      command_id: ran.body.command_id,
      principal: "acme-person",
      request: { argv: ["printf", "hello"], argv_redacted: [] },
      image_digest: ran.body.image_digest,
      container_id: ran.body.container_id,
      policy_version: ran.body.policy_version,
      result: {
        outcome: "completed",
        returncode: 0,
        stdout: { bytes: 5, sha256: ran.body.stdout_sha256 },
      },
    });
    const denied = await agent.submit(["git", "push"]);
    expect(denied.status).toBe(403);
    const refusal = await evidenceOf(denied.body.command_id);
    expect(refusal.records).toHaveLength(1);
    expect(refusal.records[0].record).toMatchObject({ kind: "denied", decision: { verdict: "deny" } });
  });

  test("holds no secret of an argv", async () => {
    const secret = `hunter2-${Date.now()}`;
    const { body } = await agent.submit(["echo", "--password", secret, `TOKEN=${secret}`]);
    const evidence = await evidenceOf(body.command_id);
    expect(JSON.stringify(evidence)).not.toContain(secret);
    expect(evidence.records[0].record.request.argv).toEqual([
      "echo",
      "--password",
      "[redacted]",
      "TOKEN=[redacted]",
    ]);
    await untilSettled();
    expect(await readFile(filePath, "utf8")).not.toContain(secret);
  });

  test("is a tenant's own, for those who may read it", async () => {
    const { body } = await agent.submit(["true"]);
    await evidenceOf(body.command_id);
    const stranger = await installation.key("globex");
    const reader = await installation.key("acme", ["sessions:read"]);
    const path = `/v1/commands/${body.command_id}/evidence`;
    expect((await bailiff.call(stranger, "GET", path)).status).toBe(404);
    expect((await bailiff.call(stranger, "GET", "/v1/audit")).body.records).toEqual([]);
    expect((await bailiff.call(reader, "GET", "/v1/audit")).status).toBe(403);
    const page = await bailiff.call(agent.key, "GET", `/v1/audit?kind=denied&session=${agent.sessionId}`);
    expect(page.body.records.map(({ record }: { record: { kind: string } }) => record.kind)).toEqual([
      "denied",
    ]);
  });

  test("verifies from the file and from the service, and any change of the file is found", async () => {
    await untilSettled();
    expect(await verify(filePath, "--sealed", "--tenant", "acme")).toMatchObject({ status: 0 });
    expect(await verify(bailiff.url, "--sealed")).toMatchObject({ status: 0 });
    const text = await readFile(filePath, "utf8");
    const changed = join(installation.directory, "changed.jsonl");
    const lines = text.split("\n");
    const at = lines.findIndex((line) => line.includes('"kind":"denied"'));
    for (const [tampered, code] of [
      [text.replace("hello", "hallo"), "record_edited"],
      [lines.toSpliced(at, 1).join("\n"), "records_missing"],
      [lines.toSpliced(at, 0, lines[at] ?? "").join("\n"), "record_out_of_order"],
    ] as const) {
      await writeFile(changed, tampered);
      const verdict = await verify(changed);
      expect(verdict.status).toBe(3);
      expect(verdict.stdout).toContain(code);
    }
  });

  test("survives SIGKILL: nothing is lost or doubled, and the file goes on", async () => {
    const before = await agent.submit(["echo", "before"]);
    await agent.submit(["sleep", "30"], {}, {});
    await bailiff.kill();
    bailiff = await installation.start("all");
    agent = { ...(await openAgent(installation, bailiff)), key: agent.key };
    const after = await agent.submit(["echo", "after"]);
    for (const { body } of [before, after]) {
      const { records } = await evidenceOf(body.command_id);
      expect(records.map(({ record }: { record: { kind: string } }) => record.kind)).toEqual([
        "admitted",
        "finished",
      ]);
    }
    await untilSettled();
    for (const source of [filePath, bailiff.url]) {
      const verdict = await verify(source, "--sealed");
      expect(verdict, verdict.stdout).toMatchObject({ status: 0 });
    }
  });

  test("docs/evidence.md shows commands that work", async () => {
    await untilSettled();
    const page = await readFile(PAGE, "utf8");
    const shown = [...page.matchAll(/^bailiff (audit .*)$/gm)].map(([, line]) => line ?? "");
    expect(shown.length).toBeGreaterThan(3);
    for (const line of shown) {
      const [command = "", target] = line.split(" > ");
      const words = command
        .replaceAll("/etc/bailiff.yaml", join(installation.directory, "config-1.yaml"))
        .replaceAll("/var/lib/bailiff/evidence", dirname(filePath))
        .replaceAll("https://bailiff.example.com", bailiff.url)
        .replaceAll("evidence.pub", publicKeyPath)
        .replaceAll("exported.jsonl", join(installation.directory, "exported.jsonl"))
        .split(" ");
      const ran = await cli(...words);
      expect(ran, line).toMatchObject({ status: 0 });
      if (target === "exported.jsonl") await writeFile(join(installation.directory, target), ran.stdout);
    }
  });
});
