import { randomUUID } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildInitBinaries, initBinaries } from "../../support/init-binaries.js";
import { type InitProcess, runInit, startInit } from "../../support/init-client.js";
import {
  encodeFrame,
  encodeRequest,
  frameType,
  reportKind,
  reportStage,
} from "../../support/init-protocol.js";
import { countProcessesWithEnvironment } from "../../support/processes.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
beforeAll(async () => {
  await buildInitBinaries();
  scratch = await createScratchDirectory();
});
afterAll(() => scratch.remove());

const seconds = (count: number): bigint => BigInt(count) * 1_000_000n;

/** A command that would go on for minutes, leaves children behind and says when it is under way. */
const stubborn = "trap '' TERM INT HUP QUIT; echo up; setsid sleep 300 & while :; do sleep 300; done";

async function startStubborn(binary: string): Promise<InitProcess> {
  const init = startInit(binary);
  init.send(encodeFrame(frameType.request, encodeRequest({ argv: ["sh", "-c", stubborn] })));
  await init.seen(frameType.stdout);
  return init;
}

describe.each(initBinaries)("ending a command under bailiff-init %s", (_build, binary) => {
  test.each([
    ["a child that is waited for", ["sh", "-c", "sleep 300 & wait"]],
    ["a child in another session", ["setsid", "-w", "sleep", "300"]],
    ["a shell that ignores signals", ["sh", "-c", "trap '' TERM INT HUP; while :; do :; done"]],
    ["a plain sleep (FB-15)", ["sleep", "5"]],
    ["a stopped process", ["sh", "-c", "kill -STOP $$"]],
    ["a process with stopped children", ["sh", "-c", "sh -c 'kill -STOP $$' & wait"]],
  ])("the timeout ends %s (FB-13)", async (_what, argv) => {
    const marker = `TEST_MARKER=${randomUUID()}`;
    const { report } = await runInit(binary, { argv, environment: [marker], timeoutMs: 600 });
    expect(report).toMatchObject({ kind: reportKind.timedOut, exitCode: -1, signal: 0 });
    expect(report.wallUs).toBeGreaterThanOrEqual(600_000n);
    expect(report.wallUs).toBeLessThan(seconds(4));
    expect(await countProcessesWithEnvironment(marker)).toBe(0);
  });

  test.each([
    ["in the background", ["sh", "-c", "(sleep 300 &) ; exit 0"]],
    ["in another session", ["setsid", "-f", "sleep", "300"]],
    [
      "as an orphan in another session",
      ["perl", "-MPOSIX", "-e", "if (fork() == 0) { POSIX::setsid(); if (fork() == 0) { sleep 300 } }"],
    ],
    ["that ignores every signal", ["sh", "-c", "(trap '' TERM INT HUP; sleep 300) & exit 0"]],
  ])("the end of the main process ends at once what it left %s (FB-13)", async (_what, argv) => {
    const { report } = await runInit(binary, { argv });
    expect(report).toMatchObject({ kind: reportKind.exited, exitCode: 0 });
    expect(report.wallUs).toBeLessThan(seconds(5));
  });

  test("the timeout stops the process and not only the waiting (FB-16)", async () => {
    const late = join(scratch.path, `late-${randomUUID()}`);
    const marker = `TEST_MARKER=${randomUUID()}`;
    const script = 'sleep 2; touch "$1"';
    const { report } = await runInit(binary, {
      argv: ["sh", "-c", script, "sh", late],
      environment: [marker],
      timeoutMs: 300,
    });
    expect(report.kind).toBe(reportKind.timedOut);
    expect(await countProcessesWithEnvironment(marker)).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    await expect(access(late)).rejects.toThrow("ENOENT");
  });

  test("output before a timeout is delivered (FB-10)", async () => {
    const { report, stdout } = await runInit(binary, {
      argv: ["sh", "-c", "echo partial; sleep 60"],
      timeoutMs: 500,
    });
    expect([report.kind, report.exitCode, stdout.toString()]).toEqual([reportKind.timedOut, -1, "partial\n"]);
  });

  test("a timeout beyond any clock does not fire", async () => {
    const { report } = await runInit(binary, { argv: ["true"], timeoutMs: Number.MAX_SAFE_INTEGER });
    expect(report.kind).toBe(reportKind.exited);
  });

  test("a fork bomb is killed to the last process (FB-18)", async () => {
    const marker = `TEST_MARKER=${randomUUID()}`;
    const bomb =
      "$SIG{$_} = 'IGNORE' for qw(TERM INT HUP CHLD); fork() for 1 .. 60; while (1) { fork(); select(undef, undef, undef, 0.01) }";
    const script = 'ulimit -u 80; exec perl -e "$1"';
    const { report } = await runInit(binary, {
      argv: ["sh", "-c", script, "sh", bomb],
      environment: [marker],
      // A user of its own: the process limit counts all processes of a user.
      uid: 10_077,
      timeoutMs: 1000,
    });
    expect(report.kind).toBe(reportKind.timedOut);
    expect(report.wallUs).toBeLessThan(seconds(10));
    expect(await countProcessesWithEnvironment(marker)).toBe(0);
  });

  test("orphans are reaped while the command goes on", async () => {
    const script = "for i in 1 2 3 4 5; do (sleep 0.05 &); done; sleep 0.5; cat /proc/[0-9]*/stat";
    const { stdout } = await runInit(binary, { argv: ["sh", "-c", script] });
    expect(stdout.toString()).not.toMatch(/\) Z /);
  });

  test("CANCEL kills everything and reports it", async () => {
    const init = await startStubborn(binary);
    init.send(encodeFrame(frameType.cancel));
    const { report, stdout, exitCode } = await init.outcome;
    expect(report).toMatchObject({ kind: reportKind.terminated, stage: reportStage.none, exitCode: -1 });
    expect([stdout.toString(), exitCode]).toEqual(["up\n", 0]);
  });

  test.each(["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] as const)(
    "%s kills everything and reports it",
    async (signal) => {
      const init = await startStubborn(binary);
      process.kill(await init.pid(), signal);
      const { report, exitCode } = await init.outcome;
      expect(report?.kind).toBe(reportKind.terminated);
      expect(exitCode).toBe(0);
    },
  );

  test("the end of stdin kills everything and reports that the owner is gone", async () => {
    const init = await startStubborn(binary);
    init.endInput();
    expect((await init.outcome).report?.kind).toBe(reportKind.ownerGone);
  });

  test("anything but CANCEL after the request kills everything", async () => {
    for (const extra of [
      encodeFrame(frameType.request, encodeRequest({ argv: ["true"] })),
      Buffer.from("garbage!"),
      encodeFrame(frameType.cancel, Buffer.from("x")),
    ]) {
      const init = await startStubborn(binary);
      init.send(extra);
      const { report } = await init.outcome;
      expect(report).toMatchObject({ kind: reportKind.internalError, stage: reportStage.request });
    }
  });

  test("CANCEL at a random moment ends in one of three true answers", async () => {
    for (let attempt = 0; attempt < 40; attempt += 1) {
      const file = join(scratch.path, `cancel-${randomUUID()}`);
      const init = startInit(binary);
      await init.seen(frameType.ready);
      init.send(encodeFrame(frameType.request, encodeRequest({ argv: ["touch", file] })));
      await new Promise((resolve) => setTimeout(resolve, attempt / 4));
      init.send(encodeFrame(frameType.cancel));
      const { report, started } = await init.outcome;
      expect([reportKind.exited, reportKind.terminated]).toContain(report?.kind);
      if (report?.kind === reportKind.exited) await access(file);
      if (!started) await expect(access(file)).rejects.toThrow("ENOENT");
    }
  });

  test("waiting for a request it ends without a word on the end of stdin and on SIGTERM", async () => {
    const closed = startInit(binary);
    await closed.seen(frameType.ready);
    closed.endInput();
    const signaled = startInit(binary);
    await signaled.seen(frameType.ready);
    process.kill(await signaled.pid(), "SIGTERM");
    for (const outcome of await Promise.all([closed.outcome, signaled.outcome])) {
      expect(outcome).toMatchObject({
        frameTypes: [frameType.ready],
        report: undefined,
        exitCode: 0,
        diagnostics: "",
      });
    }
  });

  test("CANCEL before a request ends it with nothing run", async () => {
    const init = startInit(binary);
    init.send(encodeFrame(frameType.cancel));
    const { report, frameTypes } = await init.outcome;
    expect(report?.kind).toBe(reportKind.terminated);
    expect(frameTypes).toEqual([frameType.ready, frameType.report]);
  });
});
