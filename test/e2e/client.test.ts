import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as clientModule from "../../src/client/index.js";
import { type BailiffClient, createBailiffClient } from "../../src/client/index.js";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { installPinnedTools } from "../support/pinned-tools.js";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = join(ROOT, "docs", "client.md");
const GENERATOR = join(ROOT, "test", "support", "python-generator");
const INSTALL_LIMIT_MS = 600_000;

let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;
let client: BailiffClient;
let reviewer: BailiffClient;
let scratch: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "bailiff-client-"));
  // What a project has that has installed the package.
  await mkdir(join(scratch, "node_modules"));
  await symlink(ROOT, join(scratch, "node_modules", "bailiff"));
  await writeFile(join(scratch, "package.json"), '{ "type": "module" }');
  installation = await createInstallation();
  bailiff = await installation.start("all");
  agent = await openAgent(installation, bailiff, { grant: { level: "allowlist" } });
  client = createBailiffClient({ url: bailiff.url, key: agent.key });
  const key = await installation.key("acme", ["approvals:read", "approvals:decide"], "reviewer");
  reviewer = createBailiffClient({ url: bailiff.url, key });
  await writeFile(join(agent.directory, "notes.txt"), "one\ntwo\n");
});
afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
  await rm(scratch, { recursive: true, force: true });
});

const environment = () => ({
  PATH: process.env["PATH"],
  BAILIFF_URL: bailiff.url,
  BAILIFF_API_KEY: agent.key,
});

async function blocks(label: string): Promise<string[]> {
  return [...(await readFile(PAGE, "utf8")).matchAll(/```([^\n]+)\n([\s\S]*?)```/g)]
    .filter(([, given]) => given === label)
    .map(([, , text]) => text ?? "");
}

/** Approves whatever comes to wait, while something else is done. */
async function withApprovals<T>(work: () => Promise<T>): Promise<T> {
  const leaving = new AbortController();
  const approving = (async () => {
    for await (const { approval_id } of reviewer.approvals.watch({ signal: leaving.signal, everyMs: 100 }))
      await reviewer.approvals.approve(approval_id, { note: "go on" });
  })();
  try {
    return await work();
  } finally {
    leaving.abort("done");
    await approving.catch((reason: unknown) => expect(reason).toBe("done"));
  }
}

describe("the client and a real service", () => {
  test("run one command, though the first answer is lost", async () => {
    let lost = 0;
    const losing = createBailiffClient({
      url: bailiff.url,
      key: agent.key,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        if (init?.method !== "POST" || lost > 0) return response;
        lost += 1;
        await response.text();
        throw new TypeError("the connection broke");
      },
    });
    const { session_id } = await client.sessions.open({ workspace_id: "main" });
    const command = await losing.commands.run(session_id, { argv: ["cat", "notes.txt"] });
    expect([lost, command]).toMatchObject([1, { effect: "completed", stdout: "one\ntwo\n" }]);
    const listed: string[] = [];
    for await (const { command_id } of client.commands.list({ session: session_id })) listed.push(command_id);
    expect(listed).toEqual([command.command_id]);
    await client.sessions.close(session_id);
  });

  test("agree on sessions, listings, events, explanations, evidence and refusals", async () => {
    await mkdir(join(agent.directory, "src"), { recursive: true });
    const { session_id } = await client.sessions.open({
      workspace_id: "main",
      grant: { level: "allowlist", dispatches: 9 },
    });
    expect((await client.sessions.setCwd(session_id, "src")).cwd).toBe("src");
    expect((await client.sessions.setCwd(session_id, "/workspace")).cwd).toBe(".");
    expect((await client.sessions.get(session_id)).grant.dispatches_left).toBe(9);
    const ids: string[] = [];
    for (let left = 3; left > 0; left -= 1)
      ids.unshift((await client.commands.run(session_id, { argv: ["ls"] })).command_id);
    const listed: string[] = [];
    for await (const one of client.commands.list({ session: session_id, limit: 2 }))
      listed.push(one.command_id);
    expect(listed).toEqual(ids);
    const [id = ""] = ids;
    const events: string[] = [];
    for await (const { event } of client.commands.events(id)) events.push(event);
    expect(events).toEqual(["created", "queued", "dispatched", "finished"]);
    for await (const _ of client.commands.events(id, { lastEventId: "6" })) expect.fail();
    expect((await client.policy.explain(session_id, { argv: ["rm", "-rf", "x"] })).verdict).toBe("deny");
    await expect
      .poll(async () => (await client.evidence.ofCommand(id)).complete, { timeout: 30_000 })
      .toBe(true);
    let records = 0;
    for await (const page of client.evidence.pages({ session: session_id, limit: 2 }))
      records += page.records.length;
    expect(records).toBeGreaterThanOrEqual(3);
    const denied = client.commands.submit(session_id, { argv: ["rm", "-rf", "x"] });
    await expect(denied).rejects.toMatchObject({
      code: "denied",
      problem: { decision: { verdict: "deny" } },
    });
    await client.sessions.close(session_id);
    await expect(client.sessions.get(session_id)).rejects.toMatchObject({ code: "not_found" });
  });

  test("cancel a command that waits for a person, whose word then comes too late", async () => {
    const asked = await client.commands.submit(agent.sessionId, { argv: ["sh", "cancelled.sh"] });
    expect(asked.effect).toBeNull();
    expect(await client.commands.cancel(asked.command_id)).toMatchObject({
      effect: "none",
      outcome: "cancelled",
    });
    const late = reviewer.approvals.approve(asked.approval_id ?? "");
    await expect(late).rejects.toMatchObject({ name: "BailiffProblem", code: "conflict" });
  });

  test("carry files in and out as archives, to a command and back", async () => {
    const packed = join(scratch, "in");
    await mkdir(join(packed, "deep"), { recursive: true });
    await writeFile(join(packed, "deep", "\u00e9.txt"), "from the caller\n");
    await run("tar", ["-cf", `${packed}.tar`, "-C", packed, "."]);
    await client.workspaces.put("files");
    const bytes = new Uint8Array(await readFile(`${packed}.tar`));
    expect((await client.workspaces.putArchive("files", bytes)).bytes).toBe("from the caller\n".length);
    const { session_id } = await client.sessions.open({
      workspace_id: "files",
      grant: { level: "allow_all" },
    });
    const argv = ["sh", "-c", "cat deep/*.txt | tr a-z A-Z > result; seq 500000 > large"];
    expect(await client.commands.run(session_id, { argv })).toMatchObject({ returncode: 0 });
    const out = join(scratch, "out");
    await mkdir(out);
    await writeFile(`${out}.tar`, await client.workspaces.getArchive("files"));
    await run("tar", ["-xf", `${out}.tar`, "-C", out]);
    expect(await readFile(join(out, "result"), "utf8")).toBe("FROM THE CALLER\n");
    expect((await readFile(join(out, "large"), "utf8")).trim().split("\n")).toHaveLength(500_000);
    const refused = client.workspaces.putArchive("files", new Blob(["no archive"]).stream());
    await expect(refused).rejects.toMatchObject({ name: "BailiffProblem", status: 400 });
    await client.sessions.close(session_id);
  });
});

describe("docs/client.md", () => {
  test("has a first program that works with the package alone", async () => {
    const [program = ""] = await blocks("js quickstart");
    await writeFile(join(scratch, "quickstart.mjs"), program);
    const { stdout } = await run(process.execPath, ["quickstart.mjs"], { cwd: scratch, env: environment() });
    expect(stdout).toBe("exit 0: UTC\n\n");
  });

  test("shows code that the published types accept, for a browser too, and code that they refuse because of unknown effects", async () => {
    const files: { name: string; isRefused: boolean }[] = [];
    for (const label of ["ts accepted", "ts refused"]) {
      for (const [index, code] of (await blocks(label)).entries()) {
        const name = join(scratch, `${label.slice(3)}-${index}.ts`);
        const head =
          'import { BailiffProblem, byEffect, NoAnswer, type BailiffClient } from "bailiff/client";\n' +
          "declare const bailiff: BailiffClient;\ndeclare const session: string;\n";
        await writeFile(
          name,
          `${head}export async function shown() {\n${code}}\nvoid [BailiffProblem, byEffect, NoAnswer];\n`,
        );
        files.push({ name, isRefused: label === "ts refused" });
      }
    }
    const program = ts.createProgram({
      rootNames: files.map(({ name }) => name),
      options: {
        strict: true,
        noEmit: true,
        // As in most projects: what it says of the client's own types is what counts.
        skipLibCheck: true,
        target: ts.ScriptTarget.ES2022,
        lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.asynciterable.d.ts"],
        types: [],
        module: ts.ModuleKind.ESNext,
        moduleResolution: ts.ModuleResolutionKind.Bundler,
      },
    });
    expect(files.filter(({ isRefused }) => isRefused)).toHaveLength(3);
    for (const { name, isRefused } of files) {
      const found = ts
        .getPreEmitDiagnostics(program, program.getSourceFile(name))
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
      if (!isRefused) expect(found, name).toEqual([]);
      else {
        expect(found, name).toHaveLength(1);
        expect(found[0], name).toMatch(/does not exist on type|Property 'unknown' is missing/);
      }
    }
  }, 300_000);

  test("shows code that does what the page says", async () => {
    const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
    const shown = (await blocks("ts accepted")).map(async (code) => {
      const { outputText } = ts.transpileModule(code, {
        compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
      });
      const ours = code.includes("approvals.watch") ? reviewer : client;
      const lines: unknown[][] = [];
      const written = { log: (...words: unknown[]) => void lines.push(words) };
      const names = ["bailiff", "session", "console", ...Object.keys(clientModule)];
      const values = [ours, agent.sessionId, written, ...Object.values(clientModule)];
      await new AsyncFunction(...names, outputText)(...values);
      return lines;
    });
    const [result, waiting, , approvals, copied] = await Promise.all(shown);
    expect(copied).toEqual([[true]]);
    expect(result).toEqual([[0, "2 notes.txt\n"]]);
    expect(waiting?.slice(0, 2)).toEqual([["waits for a person:", expect.any(String)], ["approval_denied"]]);
    expect(waiting?.map(([first]) => first)).toEqual(expect.arrayContaining(["1", "2", "6"]));
    expect(String(approvals?.[0]?.[0])).toContain('["make"]');
  });

  test("shows examples that work: an agent that adapts, waits and looks before it goes on", async () => {
    await mkdir(join(agent.directory, "build"), { recursive: true });
    await writeFile(join(agent.directory, "build.sh"), "echo built; exit 3\n");
    const endless = join(agent.directory, "endless.sh");
    await writeFile(endless, "echo half-way > progress.txt; sleep 60\n");
    const [agentLoop = "", orchestrator = ""] = ((await blocks("sh"))[0] ?? "").trim().split("\n");
    const shell = (line: string) =>
      run("sh", ["-ec", line.replace(/^npx /, "node_modules/.bin/")], { cwd: ROOT, env: environment() });
    const { stdout } = await withApprovals(() => shell(agentLoop));
    const told = stdout
      .replace(/apr_\w+/g, "apr_…")
      .trim()
      .split("\n");
    expect(told[0]).toBe('["ls"]');
    expect(told.slice(told.indexOf('["rm","-rf","build"]'))).toEqual([
      '["rm","-rf","build"]',
      expect.stringMatching(/^ {2}denied: /),
      '["sh","build.sh"]',
      "  waits for a person: apr_…",
      "  done: exit 3: built",
      '["sh","endless.sh"]',
      "  waits for a person: apr_…",
      "  unknown: timed_out: look before doing anything again",
      '["cat","progress.txt"]',
      "  done: exit 0: half-way",
    ]);
    const texts = Array.from({ length: 12 }, (_, index) => "line\n".repeat(index + 1));
    for (const [index, text] of texts.entries())
      await writeFile(join(agent.directory, `part-${index}.txt`), text);
    const before = new Set<string>();
    for await (const { command_id } of client.commands.list()) before.add(command_id);
    // notes.txt has two lines, the scripts and progress.txt one each.
    expect((await shell(orchestrator)).stdout).toBe(`${2 + 1 + 1 + 1 + 78} lines\n`);
    const sessions = new Set<string>();
    for await (const { command_id, session_id } of client.commands.list())
      if (!before.has(command_id)) sessions.add(session_id);
    expect(sessions.size).toBe(10);
  });
});

test(
  "a generator makes Python types from /openapi.json, and Python reads real answers with them",
  async () => {
    const modules = await installPinnedTools("python-generator", GENERATOR);
    const shims = join(scratch, "shims");
    await mkdir(shims);
    const shim = `#!/bin/sh\nshift\nexec '${process.execPath}' '${join(modules, ".bin", "quicktype")}' "$@"\n`;
    await writeFile(join(shims, "npx"), shim, { mode: 0o755 });
    const [generate = ""] = await blocks("sh python");
    const env = { ...environment(), PATH: `${shims}:${process.env["PATH"]}` };
    await run("sh", ["-ec", generate], { cwd: scratch, env });
    const open = await openAgent(installation, bailiff, { workspace: "python" });
    const answers = {
      command: (await open.submit(["printf", "a\u00e9"])).body,
      problem: (await agent.submit(["rm", "-rf", "x"])).body,
    };
    expect([answers.command.effect, answers.problem.code]).toEqual(["completed", "denied"]);
    const [reader = ""] = await blocks("python");
    for (const [name, text] of Object.entries({
      "bailiff_wire.py": await readFile(join(scratch, "bailiff_wire.py"), "utf8"),
      "command.json": JSON.stringify(answers.command),
      "problem.json": JSON.stringify(answers.problem),
      "wrong.json": JSON.stringify({ ...answers.command, effect: "perhaps" }),
      "read.py": reader,
      "wrong.py": reader.replace("command.json", "wrong.json"),
    }))
      await writeFile(join(open.directory, name), text);
    // The Python of the sandbox image: the host need not have one.
    const client = createBailiffClient({ url: bailiff.url, key: open.key });
    const read = await client.commands.run(open.sessionId, { argv: ["python3", "read.py"] });
    expect(read, JSON.stringify(read)).toMatchObject({ returncode: 0, stdout: "0 a\u00e9\ndenied deny\n" });
    const wrong = await client.commands.run(open.sessionId, { argv: ["python3", "wrong.py"] });
    expect(wrong).toMatchObject({ returncode: 1, stderr: expect.stringContaining("AssertionError") });
  },
  INSTALL_LIMIT_MS,
);
