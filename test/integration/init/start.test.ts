import { chmod, mkdir, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildInitBinaries, initBinaries } from "../../support/init-binaries.js";
import { runInit } from "../../support/init-client.js";
import { reportKind, reportStage } from "../../support/init-protocol.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const { errno, signals } = constants;

let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
async function executable(name: string, content: string | Buffer, mode = 0o755): Promise<string> {
  const path = join(scratch.path, name);
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}
beforeAll(async () => {
  await buildInitBinaries();
  scratch = await createScratchDirectory();
  await executable("plain-file", "x", 0o644);
  await executable("without-shebang", "echo a shell ran this\n");
  await executable("missing-interpreter", "#!/no/such/interpreter\n");
  await executable("tool", "#!/bin/sh\necho from the workspace\n");
  // An ELF header of a machine that no test runs on.
  const foreign = Buffer.alloc(64);
  foreign.write("\x7fELF\x02\x01\x01", "latin1");
  foreign.writeUInt16LE(2, 16);
  foreign.writeUInt16LE(0x00f7, 18);
  await executable("foreign-machine", foreign);
  await mkdir(join(scratch.path, "private"), { mode: 0o700 });
});
afterAll(() => scratch.remove());

describe.each(initBinaries)("start and end of a command under bailiff-init %s", (_build, binary) => {
  test.each([0, 1, 7, 125, 126, 127, 137, 255])(
    "exit code %i is the program's own (FB-19, FB-23)",
    async (exitCode) => {
      const { report, started } = await runInit(binary, { argv: ["sh", "-c", `exit ${exitCode}`] });
      expect(started).toBe(true);
      expect(report).toMatchObject({
        kind: reportKind.exited,
        stage: reportStage.none,
        exitCode,
        signal: 0,
        errno: 0,
      });
    },
  );

  test.each(["SIGKILL", "SIGTERM", "SIGSEGV", "SIGHUP", "SIGPIPE"] as const)(
    "death by %s is told from an exit code (FB-19)",
    async (name) => {
      const { report } = await runInit(binary, { argv: ["sh", "-c", `kill -${name.slice(3)} $$`] });
      expect(report).toMatchObject({ kind: reportKind.signaled, signal: signals[name], exitCode: -1 });
    },
  );

  test.each([
    ["a name nobody has", "no-such-command", errno.ENOENT],
    ["an empty name", "", errno.ENOENT],
    ["a blank name", " ", errno.ENOENT],
    ["a path nobody has", "/no/such/command", errno.ENOENT],
    ["a file without execute permission", "./plain-file", errno.EACCES],
    ["a system file without execute permission", "/etc/passwd", errno.EACCES],
    ["a directory", "/tmp", errno.EACCES],
    ["a script without a shebang, never given to a shell", "./without-shebang", errno.ENOEXEC],
    ["a script whose interpreter is missing", "./missing-interpreter", errno.ENOENT],
    ["a binary of another machine", "./foreign-machine", errno.ENOEXEC],
    ["a file used as a directory", "./plain-file/x", errno.ENOTDIR],
    ["a name longer than any file's", "x".repeat(256), errno.ENAMETOOLONG],
    ["a dot", ".", errno.EACCES],
  ])("%s is a start failure with its errno (FB-23)", async (_what, program, expected) => {
    const { report, started, stdout, stderr } = await runInit(binary, {
      argv: [program, "x"],
      cwd: scratch.path,
    });
    expect(report).toMatchObject({
      kind: reportKind.startFailed,
      stage: reportStage.exec,
      errno: expected,
      exitCode: -1,
    });
    expect([started, stdout.length, stderr.length]).toEqual([false, 0, 0]);
  });

  test.each([
    ["is missing", "missing", errno.ENOENT],
    ["is a file", "plain-file", errno.ENOTDIR],
    ["is not permitted to the user", "private", errno.EACCES],
  ])("a working directory that %s is a start failure and is not created", async (_what, name, expected) => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { report, started } = await runInit(binary, { argv: ["true"], cwd: join(scratch.path, name) });
      expect(report).toMatchObject({
        kind: reportKind.startFailed,
        stage: reportStage.chdir,
        errno: expected,
      });
      expect(started).toBe(false);
    }
  });

  test("a bare name is never found in the working directory or in the request's PATH (FB-28)", async () => {
    for (const path of ["", ".", scratch.path, "::"]) {
      const { report } = await runInit(binary, {
        argv: ["tool"],
        cwd: scratch.path,
        environment: [`PATH=${path}`],
      });
      expect(report).toMatchObject({
        kind: reportKind.startFailed,
        stage: reportStage.exec,
        errno: errno.ENOENT,
      });
    }
  });

  test("a name with a slash runs as it is, relative to the working directory", async () => {
    const { stdout } = await runInit(binary, { argv: ["./tool"], cwd: scratch.path });
    expect(stdout.toString()).toBe("from the workspace\n");
  });

  test("no token is ever interpreted", async () => {
    const tokens = [
      "*",
      "$HOME",
      "|",
      "; touch x;",
      "&&",
      ">x",
      "`id`",
      "$(id)",
      "",
      " ",
      "\n",
      "'\"\\",
      "é\u202e",
      "-n",
    ];
    const { stdout } = await runInit(binary, { argv: ["printf", "[%s]", ...tokens], cwd: scratch.path });
    expect(stdout.toString()).toBe(tokens.map((token) => `[${token}]`).join(""));
  });

  test("4,096 tokens, a token of 131,071 bytes and 1 MiB in all reach the program (FB-26)", async () => {
    const many = await runInit(binary, {
      argv: ["printf", "%s", ...Array.from({ length: 4094 }, () => "x")],
    });
    expect(many.stdout.toString()).toBe("x".repeat(4094));
    const long = "y".repeat(131_071);
    expect((await runInit(binary, { argv: ["printf", "%s", long] })).stdout.toString()).toBe(long);
    const head = ["printf", "%s"];
    const rest = (1 << 20) - head.join("").length - 8 * 131_071;
    const tokens = [...Array.from({ length: 7 }, () => long), "z".repeat(rest), long];
    const full = await runInit(binary, { argv: [...head, ...tokens], stdoutCaptureBytes: 2 << 20 });
    expect(full.stdout.toString()).toBe(tokens.join(""));
  });

  test("the environment is exactly the request's (FB-28)", async () => {
    const environment = ["A=b", "EMPTY=", "PATH=/nowhere", "X=1=2", "LANG=C.UTF-8"];
    const { stdout } = await runInit(binary, { argv: ["env"], environment });
    expect(stdout.toString()).toBe(environment.map((entry) => `${entry}\n`).join(""));
    expect((await runInit(binary, { argv: ["env"], environment: [] })).stdout.length).toBe(0);
  });

  test.each([
    ["cat", ["cat"], "", 0],
    ["a shell's read", ["sh", "-c", "read a; echo $?"], "1\n", 0],
    ["tty", ["tty"], "not a tty\n", 1],
    ["opening /dev/tty", ["sh", "-c", "(: </dev/tty) 2>/dev/null || echo none"], "none\n", 0],
  ])("stdin is at its end and no terminal for %s (FB-20)", async (_what, argv, output, exitCode) => {
    const { stdout, report } = await runInit(binary, { argv, environment: ["LC_ALL=C"] });
    expect([stdout.toString(), report.exitCode]).toEqual([output, exitCode]);
  });

  test("wall time, CPU time and peak memory are reported", async () => {
    const burn = "my $end = times() + 0.3; 1 while times() < $end;";
    // A grandchild that outlives its parent counts as well.
    const orphan = `if (fork() == 0) { if (fork() == 0) { ${burn} exit } exit } wait; sleep 1`;
    const { report } = await runInit(binary, { argv: ["perl", "-e", orphan] });
    expect(report.wallUs).toBeGreaterThanOrEqual(1_000_000n);
    expect(report.cpuUs).toBeGreaterThanOrEqual(250_000n);
    expect(report.peakMemoryBytes).toBeGreaterThan(0n);
  });
});
