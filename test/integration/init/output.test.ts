import { createHash, randomBytes, randomUUID } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildInitBinaries, initBinaries } from "../../support/init-binaries.js";
import { runInit, startInit } from "../../support/init-client.js";
import { encodeFrame, encodeRequest, frameType, reportKind } from "../../support/init-protocol.js";
import { countProcessesWithEnvironment } from "../../support/processes.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const sha256 = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");

let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
beforeAll(async () => {
  await buildInitBinaries();
  scratch = await createScratchDirectory();
});
afterAll(() => scratch.remove());

describe.each(initBinaries)("output of bailiff-init %s", (_build, binary) => {
  test("arbitrary bytes arrive exactly (FB-4)", async () => {
    const bytes = randomBytes(700_001);
    const file = join(scratch.path, "random");
    await writeFile(file, bytes);
    const { stdout, stderr, report, frameTypes, diagnostics } = await runInit(binary, {
      argv: ["cat", file],
    });
    expect(stdout.equals(bytes)).toBe(true);
    expect(stderr.length).toBe(0);
    expect(report).toMatchObject({
      kind: reportKind.exited,
      exitCode: 0,
      stdoutBytes: 700_001n,
      stderrBytes: 0n,
    });
    expect(report.stdoutSha256).toBe(sha256(bytes));
    expect(report.stderrSha256).toBe(sha256(""));
    expect(frameTypes.slice(0, 2)).toEqual([frameType.ready, frameType.started]);
    expect(diagnostics).toBe("");
  });

  test("what a process wrote before a fast exit is never lost (FB-1)", async () => {
    const argv = ["/bin/sh", "-c", "printf A; printf B >&2; exit 7"];
    for (let batch = 0; batch < 10; batch += 1) {
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => runInit(binary, { argv })));
      for (const { stdout, stderr, report } of outcomes) {
        expect([stdout.toString(), stderr.toString(), report.exitCode]).toEqual(["A", "B", 7]);
      }
    }
  });

  test("100,000 alternating one-byte writes keep to their streams (FB-5)", async () => {
    const script = 'for (0 .. 99999) { syswrite($_ % 2 ? STDERR : STDOUT, $_ % 2 ? "e" : "o") }';
    const { stdout, stderr } = await runInit(binary, { argv: ["perl", "-e", script] });
    expect(stdout.equals(Buffer.alloc(50_000, "o"))).toBe(true);
    expect(stderr.equals(Buffer.alloc(50_000, "e"))).toBe(true);
  });

  test("beyond the capture cap bytes are counted and hashed but not delivered", async () => {
    const bytes = randomBytes(300_000);
    const file = join(scratch.path, "beyond");
    await writeFile(file, bytes);
    for (const capture of [0, 1, 65_535, 65_536, 65_537, 299_999, 300_000, 300_001]) {
      const { stdout, report } = await runInit(binary, {
        argv: ["cat", file],
        stdoutCaptureBytes: capture,
        stdoutHardBytes: 300_001,
      });
      expect(stdout.equals(bytes.subarray(0, capture))).toBe(true);
      expect(report).toMatchObject({
        kind: reportKind.exited,
        stdoutBytes: 300_000n,
        stdoutSha256: sha256(bytes),
      });
    }
  });

  test("the hard cap ends the command when it is passed and not when it is reached", async () => {
    for (const [written, kind] of [
      [4095, reportKind.exited],
      [4096, reportKind.exited],
      [4097, reportKind.outputLimit],
    ] as const) {
      const { report } = await runInit(binary, {
        argv: ["head", "-c", String(written), "/dev/zero"],
        stdoutCaptureBytes: 10,
        stdoutHardBytes: 4096,
      });
      expect(report).toMatchObject({ kind, stdoutBytes: BigInt(written) });
      expect(report.exitCode).toBe(kind === reportKind.exited ? 0 : -1);
    }
  });

  test.each([
    ["stdout", ["yes"], 1],
    ["stdout", ["cat", "/dev/zero"], 1],
    ["stderr", ["sh", "-c", "exec yes >&2"], 2],
  ] as const)("a flood of %s by %j is killed at its hard cap (FB-7)", async (_name, argv, stream) => {
    const { report, stdout, stderr } = await runInit(binary, { argv: [...argv] });
    expect(report).toMatchObject({ kind: reportKind.outputLimit, stream, exitCode: -1, signal: 0 });
    expect(stdout.length + stderr.length).toBe(1 << 20);
    expect(report.stdoutBytes + report.stderrBytes).toBeLessThan((8n << 20n) + (2n << 20n));
    expect(report.wallUs).toBeLessThan(10_000_000n);
  });

  test("a flood of both streams at once is killed (FB-7)", async () => {
    const { report } = await runInit(binary, { argv: ["sh", "-c", "yes & yes >&2"] });
    expect(report.kind).toBe(reportKind.outputLimit);
  });

  test("each stream has caps of its own (FB-6)", async () => {
    const { stdout, stderr, report } = await runInit(binary, {
      argv: ["sh", "-c", "printf abc; head -c 1000000 /dev/zero >&2"],
      stdoutCaptureBytes: 3,
      stdoutHardBytes: 3,
      stderrCaptureBytes: 16_384,
      stderrHardBytes: 1_000_000,
    });
    expect(stdout.toString()).toBe("abc");
    expect(stderr.length).toBe(16_384);
    expect(report).toMatchObject({ kind: reportKind.exited, stdoutBytes: 3n, stderrBytes: 1_000_000n });
  });

  test("a process may open its own stdout and stderr by name (FB-9)", async () => {
    const { stdout, stderr } = await runInit(binary, {
      argv: ["sh", "-c", "echo out >/dev/stdout; echo err >/dev/stderr; echo again >/proc/self/fd/1"],
    });
    expect([stdout.toString(), stderr.toString()]).toEqual(["out\nagain\n", "err\n"]);
  });

  test("closing both streams does not end the command", async () => {
    const { report } = await runInit(binary, { argv: ["sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 3"] });
    expect(report).toMatchObject({ kind: reportKind.exited, exitCode: 3 });
  });

  test("a copy of the write end outside the namespace cannot hold the command open", async () => {
    const init = startInit(binary);
    init.send(
      encodeFrame(frameType.request, encodeRequest({ argv: ["sh", "-c", "echo held; sleep 1; echo end"] })),
    );
    await init.seen(frameType.stdout);
    const parent = await init.pid();
    const command = (await readFile(`/proc/${parent}/task/${parent}/children`, "utf8")).trim();
    const copy = openSync(`/proc/${command}/fd/1`, "w");
    const { report, stdout } = await init.outcome;
    closeSync(copy);
    expect(report).toMatchObject({ kind: reportKind.exited, exitCode: 0 });
    expect(stdout.toString()).toBe("held\nend\n");
  });

  test("a stalled reader delays neither the timeout nor the kill, and gets everything that was kept later", async () => {
    const marker = `TEST_MARKER=${randomUUID()}`;
    const init = startInit(binary);
    await init.seen(frameType.ready);
    init.pauseReading();
    const request = encodeRequest({
      argv: ["sh", "-c", "setsid sleep 300 & (sleep 300 &) ; yes"],
      environment: [marker],
      timeoutMs: 700,
      stdoutCaptureBytes: 4 << 20,
    });
    init.send(encodeFrame(frameType.request, request));
    const processes = (): Promise<number> => countProcessesWithEnvironment(marker);
    await expect.poll(processes, { timeout: 10_000 }).toBeGreaterThan(0);
    await expect.poll(processes, { timeout: 10_000 }).toBe(0);
    // Init itself is still there: it killed them, not the end of the namespace.
    const parent = await init.pid();
    expect(await readFile(`/proc/${parent}/task/${parent}/children`, "utf8")).toBe("");
    init.resumeReading();
    const { report, stdout } = await init.outcome;
    expect(report).toMatchObject({ kind: reportKind.timedOut, stdoutBytes: BigInt(stdout.length) });
    expect(report?.wallUs).toBeGreaterThanOrEqual(700_000n);
    expect(report?.wallUs).toBeLessThan(5_000_000n);
    expect(report?.stdoutSha256).toBe(sha256(stdout));
  });

  test("a reader that never comes back does not keep the container alive", async () => {
    const init = startInit(binary);
    await init.seen(frameType.ready);
    init.pauseReading();
    init.send(
      encodeFrame(
        frameType.request,
        encodeRequest({ argv: ["yes"], timeoutMs: 200, stdoutCaptureBytes: 4 << 20 }),
      ),
    );
    const parent = await init.pid();
    const name = (): Promise<string> => readFile(`/proc/${parent}/comm`, "utf8").catch(() => "gone");
    await expect.poll(name, { timeout: 30_000, interval: 200 }).toBe("gone");
    init.resumeReading();
    const { report, exitCode } = await init.outcome;
    expect(report).toBeUndefined();
    expect(exitCode).not.toBe(0);
  });
});
