import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildInitBinaries, initBinaries } from "../../support/init-binaries.js";
import { runInit } from "../../support/init-client.js";
import { reportKind, testGid, testUid } from "../../support/init-protocol.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
beforeAll(async () => {
  await buildInitBinaries();
  scratch = await createScratchDirectory();
  await mkdir(join(scratch.path, "work"));
});
afterAll(() => scratch.remove());

async function output(binary: string, argv: string[]): Promise<string> {
  const { stdout, report } = await runInit(binary, { argv, cwd: scratch.path });
  expect(report.kind).toBe(reportKind.exited);
  return stdout.toString();
}

async function status(binary: string): Promise<Map<string, string>> {
  const lines = (await output(binary, ["cat", "/proc/self/status"])).trim().split("\n");
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
}

describe.each(initBinaries)("identity of a command under bailiff-init %s", (_build, binary) => {
  test("it has no capability, in no set, and can gain none (FB-58)", async () => {
    const fields = await status(binary);
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
      expect([set, fields.get(set)]).toEqual([set, "0".repeat(16)]);
    }
    expect(fields.get("NoNewPrivs")).toBe("1");
  });

  test("it is the requested user and group in every id and in no other group", async () => {
    const fields = await status(binary);
    expect(fields.get("Uid")?.split("\t")).toEqual(Array.from({ length: 4 }, () => String(testUid)));
    expect(fields.get("Gid")?.split("\t")).toEqual(Array.from({ length: 4 }, () => String(testGid)));
    expect(fields.get("Groups")).toBe("");
  });

  test("no signal is blocked or ignored", async () => {
    const fields = await status(binary);
    for (const set of ["SigBlk", "SigIgn", "SigPnd", "ShdPnd"]) {
      expect([set, fields.get(set)]).toEqual([set, "0".repeat(16)]);
    }
  });

  test("it has no descriptor but its three", async () => {
    // The last one is the directory that ls reads.
    expect(await output(binary, ["ls", "/proc/self/fd"])).toBe("0\n1\n2\n3\n");
  });

  test("it leads a session of its own and creates files with mask 022", async () => {
    const [pid, session] = (await output(binary, ["sh", "-c", "cut -d' ' -f1,6 /proc/$$/stat; umask"])).split(
      /\s/,
    );
    expect(session).toBe(pid);
    expect(await output(binary, ["sh", "-c", "umask"])).toBe("0022\n");
  });

  test("its files belong to it (FB-39)", async () => {
    const script = `touch owned-$$ && stat -c '%u %g %a' owned-$$ && rm owned-$$`;
    expect(await output(binary, ["sh", "-c", script])).toBe(`${testUid} ${testGid} 644\n`);
  });

  test.each([
    ["signal it", "kill -KILL 1 || kill -TERM 1 || kill -CONT 1 || kill -0 1"],
    ["read its memory", "head -c1 /proc/1/mem"],
    ["read its environment", "cat /proc/1/environ"],
    ["list its descriptors", "ls /proc/1/fd"],
    ["read the request from its stdin", "cat /proc/1/fd/0"],
    ["write into its stdout", "echo x >/proc/1/fd/1"],
    ["see its executable", "readlink /proc/1/exe"],
    ["change its priority among OOM victims", "echo 1000 >/proc/1/oom_score_adj"],
  ])("it cannot reach PID 1 to %s", async (_what, script) => {
    const result = await output(binary, [
      "sh",
      "-c",
      `{ ${script}; } >/dev/null 2>&1 && echo reached || echo refused`,
    ]);
    expect(result).toBe("refused\n");
  });

  test.runIf(process.arch === "x64" || process.arch === "arm64")("it cannot trace PID 1", async () => {
    const ptrace = process.arch === "x64" ? 101 : 117;
    const attach = 16;
    const script = `print syscall(${ptrace}, ${attach}, 1, 0, 0) == 0 ? "traced" : "refused"`;
    expect(await output(binary, ["perl", "-e", script])).toBe("refused");
  });

  test("it goes before PID 1 when memory runs out", async () => {
    expect(await output(binary, ["cat", "/proc/self/oom_score_adj"])).toBe("1000\n");
  });
});
