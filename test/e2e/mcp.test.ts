import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { CLI, createInstallation, openAgent } from "../support/bailiff.js";
import { startKeyedProxy } from "../support/mcp/keyed-proxy.js";
import { connectMcp } from "../support/mcp/mcp-client.js";
import { installMcpTools, type McpTools } from "../support/mcp/mcp-tools.js";

const BASELINE = fileURLToPath(new URL("../support/mcp/conformance-baseline.yaml", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/mcp.md", import.meta.url));
const INSTALL_LIMIT_MS = 600_000;

let tools: McpTools;
let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;
let careful: Agent;
let scratch: string;

beforeAll(async () => {
  tools = await installMcpTools();
  scratch = await mkdtemp(join(tmpdir(), "bailiff-mcp-"));
  installation = await createInstallation();
  bailiff = await installation.start("all");
  agent = await openAgent(installation, bailiff, { workspace: "first" });
  careful = await openAgent(installation, bailiff, { tenant: "careful", grant: { level: "allowlist" } });
}, INSTALL_LIMIT_MS);

afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
  await rm(scratch, { recursive: true, force: true });
});

const headersOf = ({ key, sessionId }: Agent) => ({
  authorization: `Bearer ${key}`,
  "bailiff-session": sessionId,
});
const run = (argv: readonly string[], more: Record<string, unknown> = {}) => ({
  name: "run_shell_command",
  arguments: { argv, ...more },
});

async function connectStdio(args: readonly string[], env: Record<string, string>) {
  const client = new Client({ name: "bailiff-test", version: "1" });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, "mcp", ...args],
    env,
    stderr: "inherit",
  });
  await client.connect(transport);
  return client;
}

const connections: readonly (readonly [string, () => Promise<{ client: Client; close(): Promise<void> }>])[] =
  [
    ["streamable HTTP with a session", () => connectMcp(bailiff.url, headersOf(agent))],
    ["streamable HTTP without sessions", () => connectMcp(bailiff.url, headersOf(agent), "?stateless=true")],
    [
      "standard input and output",
      async () => {
        const env = { BAILIFF_URL: bailiff.url, BAILIFF_API_KEY: agent.key };
        const client = await connectStdio(["--session", agent.sessionId], env);
        return { client, close: () => client.close() };
      },
    ],
  ];

describe.each(connections)("the official client over %s", (_name, connect) => {
  test("lists the tools with the bounds of the service", async () => {
    const { client, close } = await connect();
    const listed = (await client.listTools()).tools;
    expect(listed.map(({ name }) => name)).toEqual([
      "run_shell_command",
      "await_command",
      "change_directory",
      "explain_command",
    ]);
    expect(listed[0]?.inputSchema.properties?.["timeout_s"]).toMatchObject({ maximum: 300, default: 30 });
    await close();
  });

  test("runs, moves, explains, and tells every end for what it is", async () => {
    const { client, close } = await connect();
    const call = async (params: { name: string; arguments: Record<string, unknown> }) => {
      // The client checks structured content against the output schema of the tool.
      const result = await client.callTool(params);
      return { isError: result.isError, ...(result.structuredContent as Record<string, unknown>) };
    };
    await client.listTools();
    await writeFile(join(agent.directory, "seven.sh"), "printf A; printf B >&2; exit 7");
    expect(await call(run(["sh", "seven.sh"]))).toMatchObject({
      isError: false,
      outcome: "completed",
      effect: "completed",
      returncode: 7,
      stdout: "A",
      stderr: "B",
      next_step: "go_on",
    });
    const words = ["*", "$HOME", "|", "; exit 9", "\u202e"];
    expect(await call(run(["printf", "%s\\n", ...words]))).toMatchObject({
      stdout: words.map((word) => `${word}\n`).join(""),
    });
    expect(await call(run(["sleep", "30"], { timeout_s: 0.3 }))).toMatchObject({
      isError: true,
      outcome: "timed_out",
      effect: "unknown",
      next_step: "inspect",
    });
    expect(await call(run(["rm", "-rf", "x"]))).toMatchObject({
      isError: true,
      outcome: "denied",
      effect: "none",
      next_step: "stop",
    });
    expect(await call(run(["no-such-program"]))).toMatchObject({
      isError: true,
      outcome: "start_failed",
      next_step: "correct",
    });
    expect(await call(run(["ls"], { cwd: "/" }))).toMatchObject({ error_code: "invalid_request" });
    expect(await call({ name: "explain_command", arguments: { argv: ["rm", "-rf", "x"] } })).toMatchObject({
      isError: false,
      verdict: "deny",
    });
    await call(run(["mkdir", "-p", "inner"]));
    const go = (path: string) => call({ name: "change_directory", arguments: { path } });
    expect(await go("inner")).toMatchObject({ isError: false, cwd: "inner" });
    expect(await call(run(["pwd"]))).toMatchObject({ stdout: "/workspace/inner\n" });
    expect(await call({ name: "await_command", arguments: {} })).toMatchObject({
      stdout: "/workspace/inner\n",
    });
    expect(await go("../..")).toMatchObject({ isError: true, next_step: "stop" });
    expect(await go("..")).toMatchObject({ cwd: "." });
    await close();
  });
});

describe("while a person decides", () => {
  test.each([
    ["streamable HTTP", async () => (await connectMcp(bailiff.url, headersOf(careful))).client],
    [
      "standard input and output",
      () =>
        connectStdio(["--session", careful.sessionId], {
          BAILIFF_URL: bailiff.url,
          BAILIFF_API_KEY: careful.key,
        }),
    ],
  ] as const)(
    "progress says so over %s, and a client that gives up cancels nothing",
    async (_name, connect) => {
      const client = await connect();
      const said: string[] = [];
      const stop = new AbortController();
      const call = client.callTool(run(["touch", "asked"]), undefined, {
        signal: stop.signal,
        onprogress: ({ message }) => said.push(message ?? ""),
      });
      await expect.poll(() => said.length, { timeout: 20_000 }).toBeGreaterThan(1);
      stop.abort("enough");
      await expect(call).rejects.toThrow();
      const id = /^(cmd_\w+) has not run: it waits for a person's approval of \["touch","asked"\]\.$/.exec(
        said[0] ?? "",
      )?.[1];
      const path = `/v1/commands/${id}`;
      expect((await bailiff.call(careful.key, "GET", path)).body.state).toBe("awaiting_approval");
      // What became of it is for the agent to find, also without having heard its id.
      const waiting = client.callTool({ name: "await_command", arguments: {} });
      await bailiff.call(careful.key, "POST", `${path}/cancel`);
      expect((await waiting).structuredContent).toMatchObject({
        command_id: id,
        outcome: "cancelled",
        effect: "none",
        next_step: "stop",
      });
      await client.close();
    },
  );
});

describe("a command that waits for a person", () => {
  test("ends the call with what it did after their yes, and is told as final after their no", async () => {
    const reviewer = await installation.key("careful", ["approvals:read", "approvals:decide"], "reviewer");
    const { client, close } = await connectMcp(bailiff.url, headersOf(careful));
    await client.listTools();
    const decided = async (argv: readonly string[], decision: "approve" | "deny") => {
      const said: string[] = [];
      const call = client.callTool(run(argv), undefined, {
        onprogress: ({ message }) => said.push(message ?? ""),
      });
      await expect.poll(() => said.length, { timeout: 20_000 }).toBeGreaterThan(1);
      const path = `/v1/approvals/${/^cmd(_\w+) /.exec(said[0] ?? "")?.[1]?.replace("_", "apr_")}`;
      const { state, rendering } = (await bailiff.call(reviewer, "GET", path)).body;
      expect([state, rendering.argv_text]).toEqual(["pending", JSON.stringify(argv)]);
      for (const message of said)
        expect(message).toContain(`a person's approval of ${rendering.argv_summary}.`);
      const answer = await bailiff.call(reviewer, "POST", `${path}/decision`, { decision });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      const { isError, structuredContent } = await call;
      return { ...(structuredContent as Record<string, unknown>), isError };
    };
    const append = (word: string) => ["sh", "-c", `echo ${word} >> words; cat words; exit 4`];
    expect(await decided(append("approved"), "approve")).toMatchObject({
      isError: false,
      outcome: "completed",
      effect: "completed",
      returncode: 4,
      stdout: "approved\n",
      next_step: "go_on",
      approval: null,
    });
    expect(await decided(append("denied"), "deny")).toMatchObject({
      isError: true,
      message: expect.stringMatching(
        /^A person refused .* do not send it again, and do not try to get the same/,
      ),
      outcome: "approval_denied",
      effect: "none",
      stdout: null,
      next_step: "stop",
    });
    expect(await readFile(join(careful.directory, "words"), "utf8")).toBe("approved\n");
    await close();
  });
});

test("bailiff mcp closes the session that it opened when its client leaves", async () => {
  const client = await connectStdio(["--workspace", "first"], {
    BAILIFF_URL: bailiff.url,
    BAILIFF_API_KEY: agent.key,
  });
  const result = await client.callTool(run(["echo", "own session"]));
  const { command_id } = result.structuredContent as { command_id: string };
  const { session_id } = (await bailiff.call(agent.key, "GET", `/v1/commands/${command_id}`)).body;
  expect(session_id).not.toBe(agent.sessionId);
  await client.close();
  await expect
    .poll(async () => (await bailiff.call(agent.key, "GET", `/v1/sessions/${session_id}`)).status)
    .toBe(404);
});

test("bailiff mcp does not start with a key that the service does not take", async () => {
  const args = [CLI, "mcp", "--session", agent.sessionId];
  const env = { BAILIFF_URL: bailiff.url, BAILIFF_API_KEY: "blf_wrong" };
  await expect(promisify(execFile)(process.execPath, args, { env })).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("a valid API key or token is needed"),
  });
});

test("the official conformance suite passes what applies, and nothing else than the listed rest fails", async () => {
  const proxy = await startKeyedProxy(bailiff.url, headersOf(agent));
  const args = ["--url", `${proxy.url}/mcp`, "--suite", "all", "--expected-failures", BASELINE];
  const { code, stdout, stderr } = await tools.run("conformance", [
    "server",
    ...args,
    "--output-dir",
    join(scratch, "conformance"),
  ]);
  await proxy.close();
  for (const [scenario, checks] of Object.entries({
    "server-initialize": 1,
    ping: 1,
    "tools-list": 1,
    "server-sse-multiple-streams": 2,
    "dns-rebinding-protection": 2,
  })) {
    expect(stdout).toContain(`✓ ${scenario}: ${checks} passed, 0 failed`);
  }
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});

test("the official inspector's CLI lists the tools of bailiff mcp and calls one", async () => {
  const target = [process.execPath, CLI, "mcp", "--session", agent.sessionId];
  const env = ["-e", `BAILIFF_URL=${bailiff.url}`, "-e", `BAILIFF_API_KEY=${agent.key}`];
  const list = await tools.run("mcp-inspector", ["--cli", ...env, "--method", "tools/list", ...target]);
  expect(list.code, list.stderr).toBe(0);
  expect(JSON.parse(list.stdout).tools).toHaveLength(4);
  // Everything behind --tool-arg up to the next option is an argument.
  const call = [
    "--tool-arg",
    'argv=["id","-u"]',
    "--tool-name",
    "run_shell_command",
    "--method",
    "tools/call",
  ];
  const called = await tools.run("mcp-inspector", ["--cli", ...env, ...call, ...target]);
  expect(called.code, called.stderr).toBe(0);
  expect(JSON.parse(called.stdout).structuredContent).toMatchObject({ returncode: 0, stdout: "10001\n" });
});

describe("docs/mcp.md", () => {
  const filled = (text: string) =>
    text
      .replaceAll("$URL", bailiff.url)
      .replaceAll("$KEY", agent.key)
      .replaceAll("$SESSION", agent.sessionId);
  const blocks = async (kind: string) =>
    [...(await readFile(PAGE, "utf8")).matchAll(/```([^\n]+)\n([\s\S]*?)```/g)]
      .filter(([, label]) => label === kind)
      .map(([, , text]) => text ?? "");

  test("has commands that work as they stand", async () => {
    const path = `${await tools.shims(scratch)}:${process.env["PATH"]}`;
    const commands = await blocks("sh");
    expect(commands.length).toBeGreaterThan(2);
    const outputs: string[] = [];
    for (const command of commands) {
      const { stdout } = await promisify(execFile)("sh", ["-ec", command], {
        env: { PATH: path, HOME: scratch, URL: bailiff.url, KEY: agent.key, SESSION: agent.sessionId },
      });
      outputs.push(stdout);
    }
    expect(JSON.parse(outputs[0] ?? "").result.structuredContent.stdout).toBe("$HOME *\n");
    expect(JSON.parse(outputs[1] ?? "").structuredContent.stdout).toBe("hello\n");
    expect(JSON.parse(outputs[2] ?? "").commands).toHaveLength(1);
  });

  test("has configurations that a client can take", async () => {
    const [http = ""] = await blocks("json http-client");
    const { url, headers } = JSON.parse(filled(http)).mcpServers.bailiff;
    const overHttp = await connectMcp(new URL(url).origin, headers);
    expect((await overHttp.client.callTool(run(["true"]))).isError).toBe(false);
    await overHttp.close();
    const [stdio = ""] = await blocks("json stdio-client");
    const { command, args, env } = JSON.parse(filled(stdio)).mcpServers.bailiff;
    expect([command, args[0]]).toEqual(["bailiff", "mcp"]);
    const client = await connectStdio(args.slice(1), env);
    expect((await client.callTool(run(["true"]))).isError).toBe(false);
    await client.close();
  });
});
