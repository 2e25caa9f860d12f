import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BailiffProcess, Installation } from "../support/bailiff.js";
import { CLI, createInstallation } from "../support/bailiff.js";
import { shownCommands } from "../support/cli-page.js";
import { until } from "../support/until.js";

const PAGE = fileURLToPath(new URL("../../docs/cli.md", import.meta.url));
const POLICY = fileURLToPath(new URL("../../policy/default.yaml", import.meta.url));

let installation: Installation;
let bailiff: BailiffProcess;
let directory: string;
let environment: Record<string, string>;

beforeAll(async () => {
  installation = await createInstallation();
  bailiff = await installation.start("all");
  await bailiff.call(await installation.key("acme"), "PUT", "/v1/workspaces/first");
  directory = join(installation.directory, "reader");
  await mkdir(join(directory, "bin"), { recursive: true });
  const program = join(directory, "bin", "bailiff");
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  await chmod(program, 0o755);
  await copyFile(POLICY, join(directory, "policy.yaml"));
  await copyFile(POLICY, join(directory, "next.yaml"));
  await writeFile(join(directory, "cases.jsonl"), '{"argv":["ls"]}\n');
  environment = { PATH: `${join(directory, "bin")}:${process.env["PATH"]}` };
});

afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
});

/** Runs a line in bash; one that follows is interrupted once it has shown something. */
async function run(line: string): Promise<{ status: number | null; out: string; all: string }> {
  const follows = / (?:watch|tail) /.test(line);
  const [program, args] = follows
    ? [line.split(" ")[0] ?? "", line.split(" ").slice(1)]
    : ["bash", ["-c", line]];
  const child = spawn(program, args, { cwd: directory, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let all = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk;
    all += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    all += chunk;
  });
  const ended = once(child, "close");
  if (follows) {
    await until(async () => out.includes("\n") || child.exitCode !== null);
    child.kill("SIGINT");
  }
  const [status] = await ended;
  return { status, out, all };
}

test("docs/cli.md shows commands that do what it says, in their order", async () => {
  const shown = shownCommands(await readFile(PAGE, "utf8"));
  expect(shown.length).toBeGreaterThan(25);
  const ids: Record<string, string> = {};
  for (const { line, status } of shown) {
    const [, name, value = ""] = /^export (\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined) {
      environment[name] = value.startsWith("http") ? bailiff.url : value;
      continue;
    }
    const actual = line
      .replaceAll("/etc/bailiff.yaml", join(installation.directory, "config-1.yaml"))
      .replaceAll(/\b(apr|cmd|ses|key)_01jf0+\b/g, (text, kind: string) => ids[kind] ?? text);
    const ran = await run(actual);
    expect(ran.status, `${actual}\n${ran.all}`).toBe(status);
    for (const [id, kind = ""] of ran.all.matchAll(/\b(apr|cmd|ses|key)_[0-9a-z]{26}\b/g)) ids[kind] = id;
  }
}, 300_000);

test("a reader that leaves early gets no stack", async () => {
  expect((await run("bailiff completion bash | true")).all).toBe("");
  expect((await run("bailiff completion bash | head -n 1")).all).toMatch(
    /^# Completion of bailiff for bash.*\n$/,
  );
});
