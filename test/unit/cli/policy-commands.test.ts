import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { createPolicyCommands } from "../../../src/cli/policy-commands.js";
import { createPolicyAccess } from "../../../src/main/policy-access.js";

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bailiff-policy-"));
});

afterAll(() => rm(directory, { recursive: true }));

const document = (rules: string) => `
version: 1
rules:
${rules}
`;
const rule = (id: string, decision: string, name: string, notMatch = "other") => `
  - id: ${id}
    decision: ${decision}
    pattern: [${name}]
    reason: A rule of this test
    justification: Shows how the commands read a policy
    match: [[${name}, x], [${name}]]
    not_match: [[${notMatch}], [x, ${name}]]
`;

async function bailiff(...args: string[]): Promise<{ status: number; out: string; err: string }> {
  const printed: string[] = [];
  const complained: string[] = [];
  const status = await runCommandLine({
    commands: createPolicyCommands(createPolicyAccess(() => 0)),
    version: "0",
    args: ["policy", ...args],
    world: {
      stdout: { isTerminal: false, write: (text) => void printed.push(text) },
      stderr: { isTerminal: false, write: (text) => void complained.push(text) },
      env: {},
      onInterrupt: () => () => undefined,
    },
  });
  return { status, out: printed.join(""), err: complained.join("") };
}

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

describe("policy explain", () => {
  test("shows every layer and what is seen through wrappers, and tells verdicts apart by status", async () => {
    const denied = await bailiff("explain", "--", "env", "nice", "rm", "-rf", "x");
    expect(denied.status).toBe(11);
    expect(denied.out).toMatch(/^DENY/);
    expect(denied.out).toContain('env > nice > ["rm","-rf","x"]');
    expect(denied.out).toMatch(/policy +deny .*recursive or forced/);
    expect((await bailiff("explain", "--", "ls", "-la")).status).toBe(0);
    expect((await bailiff("explain", "--", "npm", "test")).status).toBe(10);
    expect((await bailiff("explain", "--level", "allow_all", "--", "npm", "test")).status).toBe(0);
  });

  test("follows the symlinks of a workspace that is named", async () => {
    await symlink("/etc", join(directory, "out"));
    expect((await bailiff("explain", "--", "cat", "out/passwd")).status).toBe(0);
    expect((await bailiff("explain", "--workspace", directory, "--", "cat", "out/passwd")).status).toBe(11);
  });

  test("prints control characters of an argv escaped", async () => {
    const { out } = await bailiff("explain", "--", "env", "echo", "\u001b[2J\u202e");
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("\u202e");
  });

  test("wrong calls say what is wrong", async () => {
    expect(await bailiff("explain")).toMatchObject({
      status: 2,
      err: expect.stringContaining("needs an argv"),
    });
    expect((await bailiff("explain", "--level", "root", "--", "ls")).err).toContain("--level must be one of");
  });
});

describe("policy check", () => {
  test("accepts a document and counts its rules", async () => {
    const good = await file("good.yaml", document(rule("a", "allow", "ls")));
    expect(await bailiff("check", good)).toMatchObject({
      status: 0,
      out: expect.stringContaining("ok: 1 rules"),
    });
  });

  test("names file, line, rule and what would be right for an example that fails", async () => {
    const bad = await file("bad.yaml", document(rule("listing", "allow", "ls", "ls")));
    const { status, out } = await bailiff("check", bad);
    expect(status).toBe(1);
    expect(out).toMatch(/bad\.yaml:\d+:\d+: rule listing: the not_match example/);
    expect(out).toContain("expected: ");
  });
});

describe("policy diff", () => {
  test("prints the decisions that change and says by its status whether one got laxer", async () => {
    const strict = await file("strict.yaml", document(rule("a", "deny", "tool")));
    const lax = await file("lax.yaml", document(rule("a", "allow", "tool")));
    const cases = await file("cases.jsonl", '{"id":"C-1","argv":["tool","x"]}\n{"id":"C-2","argv":["ls"]}\n');
    const laxer = await bailiff("diff", strict, lax, "--against", cases);
    expect(laxer).toMatchObject({ status: 21 });
    expect(laxer.out).toContain('C-1        deny  -> allow ["tool","x"]  by a');
    expect(laxer.out).toContain("1 of 2 decisions change");
    expect((await bailiff("diff", lax, strict, "--against", cases)).status).toBe(20);
    expect((await bailiff("diff", lax, lax, "--against", cases)).status).toBe(0);
  });

  test("names the line of a case that can't be read", async () => {
    const cases = await file("broken.jsonl", '{"argv":["ls"]}\nnope\n');
    const good = await file("g.yaml", document(rule("a", "allow", "ls")));
    expect((await bailiff("diff", good, good, "--against", cases)).err).toContain("broken.jsonl:2");
  });
});
