import { execFile } from "node:child_process";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildInitBinaries, initBinaries } from "../../support/init-binaries.js";
import { runInit, startInit } from "../../support/init-client.js";
import {
  decodeFrames,
  decodeReport,
  encodeFrame,
  encodeRequest,
  frameType,
  type InitReport,
  type InitRequest,
  isValidRequest,
  reportKind,
  reportStage,
} from "../../support/init-protocol.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
let directory: string;
beforeAll(async () => {
  await buildInitBinaries();
  scratch = await createScratchDirectory();
});
afterAll(() => scratch.remove());
beforeEach(async () => {
  directory = join(scratch.path, String(Math.random()).slice(2));
  await mkdir(directory);
  await chmod(directory, 0o777);
});

/** A request that leaves a trace when it runs. */
const touching = (overrides: Partial<InitRequest> = {}): Buffer =>
  encodeRequest({ argv: ["touch", "ran", "long-enough-to-be-cut"], cwd: directory, ...overrides });

async function expectNothingRan(binary: string, bytes: Buffer, thenEnd = false): Promise<InitReport> {
  const init = startInit(binary);
  await init.seen(frameType.ready);
  init.send(bytes);
  if (thenEnd) init.endInput();
  const { report, frameTypes, exitCode, diagnostics } = await init.outcome;
  expect(frameTypes).toEqual([frameType.ready, frameType.report]);
  expect(report).toMatchObject({
    kind: reportKind.badRequest,
    stage: reportStage.request,
    exitCode: -1,
    signal: 0,
  });
  expect([exitCode, diagnostics]).toEqual([0, ""]);
  expect(await readdir(directory)).toEqual([]);
  if (report === undefined) throw new Error("no report");
  return report;
}

const flip = fc.record({ kind: fc.constant("flip" as const), at: fc.nat(), bit: fc.nat(7) });
const replace = fc.record({ kind: fc.constant("replace" as const), at: fc.nat(), byte: fc.nat(255) });
const remove = fc.record({
  kind: fc.constant("remove" as const),
  at: fc.nat(),
  count: fc.integer({ min: 1, max: 8 }),
});
const insert = fc.record({
  kind: fc.constant("insert" as const),
  at: fc.nat(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
});
const mutations = fc.array(fc.oneof(flip, replace, remove, insert), { minLength: 1, maxLength: 4 });

function mutate(
  original: Buffer,
  changes: typeof mutations extends fc.Arbitrary<infer T> ? T : never,
): Buffer {
  let bytes = Buffer.from(original);
  for (const change of changes) {
    const at = bytes.length === 0 ? 0 : change.at % bytes.length;
    const rest = bytes.subarray(at + 1);
    const old = bytes[at] ?? 0;
    if (change.kind === "flip")
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.of(old ^ (1 << change.bit)), rest]);
    if (change.kind === "replace")
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.of(change.byte), rest]);
    if (change.kind === "remove")
      bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + change.count)]);
    if (change.kind === "insert")
      bytes = Buffer.concat([bytes.subarray(0, at), change.bytes, bytes.subarray(at)]);
  }
  return bytes;
}

describe.each(initBinaries)("requests to bailiff-init %s", (_build, binary) => {
  test("the request that the others are made from runs", async () => {
    const { report } = await runInit(binary, { argv: ["touch", "ran"], cwd: directory });
    expect(report.kind).toBe(reportKind.exited);
    expect(await readdir(directory)).toEqual(["ran"]);
  });

  test("a request that arrives byte by byte runs the same", async () => {
    const init = startInit(binary);
    await init.seen(frameType.ready);
    for (const byte of encodeFrame(frameType.request, touching())) {
      init.send(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await init.outcome).report).toMatchObject({ kind: reportKind.exited, exitCode: 0 });
  });

  test.each<[string, Partial<InitRequest>, string]>([
    ["user 0", { uid: 0 }, "uid is not allowed"],
    ["group 0", { gid: 0 }, "gid is not allowed"],
    ["the user that means no change", { uid: 0xffffffff }, "uid is not allowed"],
    ["the group that means no change", { gid: 0xffffffff }, "gid is not allowed"],
    ["no tokens", { argv: [] }, "argv is empty"],
    ["4,097 tokens (FB-26)", { argv: Array.from({ length: 4097 }, () => "x") }, "argv has too many tokens"],
    ["a token of 131,072 bytes (FB-26)", { argv: ["echo", "x".repeat(131_072)] }, "a string is too long"],
    [
      "a token of 131,072 bytes in fewer characters (FB-26)",
      { argv: ["echo", "é".repeat(65_536)] },
      "a string is too long",
    ],
    [
      "more than 1 MiB of tokens (FB-26)",
      { argv: Array.from({ length: 9 }, () => "x".repeat(131_071)) },
      "argv is too long",
    ],
    ["NUL in a token (FB-25)", { argv: ["echo", "a\0b"] }, "a string contains NUL"],
    ["NUL in the program (FB-25)", { argv: ["tou\0ch", "ran"] }, "a string contains NUL"],
    ["NUL in the working directory (FB-25)", { cwd: "/tmp\0" }, "a string contains NUL"],
    ["NUL in the environment (FB-25)", { environment: ["A=\0"] }, "a string contains NUL"],
    ["a relative working directory", { cwd: "tmp" }, "cwd is not absolute"],
    [
      "an environment entry without a name",
      { environment: ["=x"] },
      "an environment entry is not NAME=VALUE",
    ],
    [
      "an environment entry without a value",
      { environment: ["A"] },
      "an environment entry is not NAME=VALUE",
    ],
    ["no timeout", { timeoutMs: 0 }, "timeout is zero"],
    [
      "a capture cap above the hard cap",
      { stdoutCaptureBytes: 2, stdoutHardBytes: 1 },
      "a capture cap is above its hard cap",
    ],
    ["another version", { version: 2 }, "unsupported protocol version"],
    ["flags", { flags: 1 }, "unknown flags"],
  ])("%s is refused and nothing runs", async (_what, overrides, message) => {
    const report = await expectNothingRan(binary, encodeFrame(frameType.request, touching(overrides)));
    expect(report.message).toBe(message);
  });

  test("a frame above 4 MiB is refused by its header alone", async () => {
    const header = Buffer.from([frameType.request, 0, 0, 0, 0x00, 0x40, 0x00, 0x01]);
    expect((await expectNothingRan(binary, header)).message).toBe("request is too large");
  });

  test("bytes after the request's own are refused, inside its frame and outside", async () => {
    await expectNothingRan(binary, encodeFrame(frameType.request, Buffer.concat([touching(), Buffer.of(0)])));
    const frame = encodeFrame(frameType.request, touching());
    await expectNothingRan(binary, Buffer.concat([frame, Buffer.from("trailing")]));
    await expectNothingRan(binary, Buffer.concat([frame, frame]));
  });

  test("a request cut at any place never runs", async () => {
    const frame = encodeFrame(frameType.request, touching());
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: frame.length - 1 }), async (length) => {
        await expectNothingRan(binary, frame.subarray(0, length), true);
      }),
      { numRuns: 60 },
    );
  });

  test("a payload that breaks any rule of the protocol never runs", async () => {
    const original = touching({ environment: ["A=b", "PATH=/bin"] });
    await fc.assert(
      fc.asyncProperty(mutations, async (changes) => {
        const payload = mutate(original, changes);
        fc.pre(payload.length > 0 && !isValidRequest(payload));
        await expectNothingRan(binary, encodeFrame(frameType.request, payload));
      }),
      { numRuns: 150 },
    );
  });

  test("a frame header that breaks the protocol never runs", async () => {
    const frame = encodeFrame(frameType.request, touching());
    await fc.assert(
      fc.asyncProperty(fc.nat(7), fc.nat(255), async (at, byte) => {
        fc.pre(frame[at] !== byte);
        const broken = Buffer.from(frame);
        broken[at] = byte;
        await expectNothingRan(binary, broken, true);
      }),
      { numRuns: 60 },
    );
  });

  test("random bytes never run", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
        fc.pre(bytes[0] !== frameType.cancel);
        await expectNothingRan(binary, Buffer.from(bytes), true);
      }),
      { numRuns: 60 },
    );
  });

  test("anywhere but as PID 1 it refuses to do anything", async () => {
    // Still inside a PID namespace, where it is process 2.
    const script = '"$0"; exit $?';
    const { stdout } = await promisify(execFile)(
      "unshare",
      ["--pid", "--fork", "--mount-proc", "--kill-child", "--", "sh", "-c", script, binary],
      { encoding: "buffer" },
    );
    const { frames } = decodeFrames(stdout);
    expect(frames.map((frame) => frame.type)).toEqual([frameType.report]);
    const report = decodeReport(frames[0]?.payload ?? Buffer.alloc(0));
    expect(report).toMatchObject({ kind: reportKind.internalError, message: "not PID 1 of a PID namespace" });
  });
});
