import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createInitFrameDecoder,
  encodeCancel,
  encodeRequest,
  type InitRequest,
} from "../../../../src/adapters/docker/init-frames.js";
import type { InitReport } from "../../../../src/domain/outcome.js";
import { byteByByte, cutAt, cutPlaces } from "../../../support/byte-splits.js";
import {
  encodeFrame,
  encodeRequest as encodeRequestByTheProtocol,
  frameType,
  isValidRequest,
  reportKind,
} from "../../../support/init-protocol.js";
import { encodeReport } from "../../../support/report-bytes.js";

const READY = encodeFrame(frameType.ready, Buffer.from([0, 0, 0, 1]));
const STARTED = encodeFrame(frameType.started);
const output = (type: number, text: string) => encodeFrame(type, Buffer.from(text));
const report = (overrides: Parameters<typeof encodeReport>[0] = {}) =>
  encodeFrame(frameType.report, encodeReport(overrides));

const base: InitRequest = {
  argv: ["true"],
  cwd: "/workspace",
  environment: { LANG: "C.UTF-8" },
  uid: 10_001,
  gid: 10_002,
  timeoutMs: 30_000,
  stdoutCaptureBytes: 100,
  stdoutHardBytes: 200,
  stderrCaptureBytes: 300,
  stderrHardBytes: 400,
};

/** What a decoder makes of chunks; `asked` is when the request goes out: after so many bytes. */
function decode(chunks: readonly Buffer[], asked: "after_ready" | "never" = "after_ready") {
  const seen = { events: [] as string[], stdout: "", stderr: "", reports: [] as InitReport[] };
  const decoder = createInitFrameDecoder({
    ready: () => {
      seen.events.push("ready");
      if (asked === "after_ready") decoder.expectReport();
    },
    started: () => seen.events.push("started"),
    stdout: (slice) => {
      seen.stdout += Buffer.from(slice).toString("latin1");
    },
    stderr: (slice) => {
      seen.stderr += Buffer.from(slice).toString("latin1");
    },
    pong: () => seen.events.push("pong"),
    report: (one) => {
      seen.events.push("report");
      seen.reports.push(one);
    },
  });
  for (const chunk of chunks) decoder.push(chunk);
  return seen;
}

describe("the REQUEST frame", () => {
  const token = fc.string({ unit: "grapheme", maxLength: 20 }).filter((text) => !text.includes("\0"));
  const size = fc.nat({ max: 1 << 24 });

  it("is what the protocol says, for any request", () => {
    fc.assert(
      fc.property(
        fc.array(token, { minLength: 1, maxLength: 20 }),
        fc.dictionary(fc.stringMatching(/^[A-Z_]{1,10}$/), token, { maxKeys: 10 }),
        token,
        fc.tuple(size, size, size, size),
        fc.integer({ min: 1, max: 2 ** 40 }),
        (argv, environment, directory, [a, b, c, d], timeoutMs) => {
          const request: InitRequest = {
            ...base,
            argv,
            environment,
            cwd: `/workspace/${directory}`,
            timeoutMs,
            stdoutCaptureBytes: Math.min(a, b),
            stdoutHardBytes: Math.max(a, b),
            stderrCaptureBytes: Math.min(c, d),
            stderrHardBytes: Math.max(c, d),
          };
          const payload = encodeRequestByTheProtocol({
            ...request,
            argv: [...argv],
            environment: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
          });
          expect(encodeRequest(request)).toEqual(encodeFrame(frameType.request, payload));
          expect(isValidRequest(payload)).toBe(true);
        },
      ),
    );
  });

  it.each<[string, Partial<InitRequest>]>([
    ["no argv", { argv: [] }],
    ["4,097 tokens", { argv: Array.from({ length: 4097 }, () => "a") }],
    ["a token of 131,072 bytes", { argv: ["é".repeat(65_536)] }],
    ["more than 1 MiB of argv", { argv: Array.from({ length: 9 }, () => "a".repeat(131_000)) }],
    ["a NUL in argv", { argv: ["a\0b"] }],
    ["a lone surrogate", { argv: ["a\ud800"] }],
    ["a relative cwd", { cwd: "a" }],
    ["a NUL in cwd", { cwd: "/a\0" }],
    ["a cwd of 4,096 bytes", { cwd: `/${"a".repeat(4095)}` }],
    ["a NUL in the environment", { environment: { A: "\0" } }],
    ["an empty name in the environment", { environment: { "": "x" } }],
    ["a name with = in the environment", { environment: { "A=B": "x" } }],
    ["uid 0", { uid: 0 }],
    ["gid 0", { gid: 0 }],
    ["uid -1", { uid: 0xffff_ffff }],
    ["no timeout", { timeoutMs: 0 }],
    ["half a millisecond", { timeoutMs: 0.5 }],
    ["a capture above the hard cap", { stdoutCaptureBytes: 201 }],
    ["a negative cap", { stderrCaptureBytes: -1 }],
  ])("is not made for %s", (_, overrides) => {
    expect(() => encodeRequest({ ...base, ...overrides })).toThrow(RangeError);
  });

  it("is made at each bound", () => {
    expect(encodeRequest({ ...base, argv: ["a".repeat(131_071)] }).length).toBeGreaterThan(131_071);
    expect(encodeRequest({ ...base, argv: Array.from({ length: 4096 }, () => "a") }).length).toBeGreaterThan(
      4096 * 5,
    );
    const mebibyte = [
      ...Array.from({ length: 8 }, () => "a".repeat(131_000)),
      "a".repeat((1 << 20) - 1_048_000),
    ];
    expect(encodeRequest({ ...base, argv: mebibyte }).length).toBeGreaterThan(1 << 20);
  });

  it("never names the value it refuses", () => {
    expect(() => encodeRequest({ ...base, argv: ["secret\0"] })).toThrow(/^argv holds a NUL$/);
  });
});

describe("the CANCEL frame", () => {
  it("is a bare header", () => {
    expect(encodeCancel()).toEqual(encodeFrame(frameType.cancel));
  });
});

describe("bailiff-init's frames", () => {
  const life = Buffer.concat([
    READY,
    STARTED,
    output(frameType.stdout, "out"),
    output(frameType.stderr, "err"),
    output(frameType.stdout, "x".repeat(500)),
    report({ exitCode: 7, stdoutBytes: 503n, stderrBytes: 3n, message: "text" }),
  ]);
  const whole = {
    events: ["ready", "started", "report"],
    stdout: `out${"x".repeat(500)}`,
    stderr: "err",
    reports: [expect.objectContaining({ kind: "exited", exitCode: 7, stdoutBytes: 503, message: "text" })],
  };

  it("are taken apart alike however they are cut (FB-5)", () => {
    expect(decode(byteByByte(life))).toEqual(whole);
    for (let at = 0; at <= life.length; at += 1) expect(decode(cutAt(life, [at]))).toEqual(whole);
    fc.assert(
      fc.property(cutPlaces(life.length), (places) => {
        expect(decode(cutAt(life, places))).toEqual(whole);
      }),
    );
  });

  it("carry every field of a report", () => {
    const [one] = decode([
      READY,
      STARTED,
      report({
        kind: reportKind.signaled,
        exitCode: -1,
        signal: 9,
        oomKills: 2n,
        stdoutBytes: 1n << 40n,
        stderrBytes: 4n,
        stdoutSha256: "ab".repeat(32),
        stderrSha256: "cd".repeat(32),
        wallUs: 1_499_500n,
        cpuUs: 2_000n,
        peakMemoryBytes: 3n,
      }),
    ]).reports;
    expect(one).toEqual({
      kind: "signaled",
      stage: "none",
      limitStream: null,
      errno: 0,
      exitCode: null,
      signal: 9,
      oomKills: 2,
      stdoutBytes: 2 ** 40,
      stderrBytes: 4,
      stdoutSha256: "ab".repeat(32),
      stderrSha256: "cd".repeat(32),
      wallMs: 1500,
      cpuMs: 2,
      peakMemoryBytes: 3,
      message: "",
    });
  });

  it("say null for what could not be read", () => {
    const unknown = 0xffff_ffff_ffff_ffffn;
    const [one] = decode([
      READY,
      STARTED,
      report({ oomKills: unknown, cpuUs: unknown, peakMemoryBytes: unknown }),
    ]).reports;
    expect(one).toMatchObject({ oomKills: null, cpuMs: null, peakMemoryBytes: null });
  });

  it("may report without a start where nothing ran", () => {
    for (const kind of [
      reportKind.startFailed,
      reportKind.timedOut,
      reportKind.terminated,
      reportKind.ownerGone,
      reportKind.badRequest,
      reportKind.internalError,
    ]) {
      expect(decode([READY, report({ kind, exitCode: -1 })]).reports).toHaveLength(1);
    }
  });

  const corrupted = (frame: Buffer, at: number, value: number) => {
    const copy = Buffer.from(frame);
    copy[at] = value;
    return copy;
  };

  it.each<[string, Buffer[]]>([
    ["output before READY", [output(frameType.stdout, "x")]],
    ["a report before READY", [report()]],
    ["READY twice", [READY, READY]],
    ["another protocol version", [encodeFrame(frameType.ready, Buffer.from([0, 0, 0, 2]))]],
    ["READY of another length", [encodeFrame(frameType.ready, Buffer.from([0, 0, 0, 1, 0]))]],
    ["STARTED with a payload", [READY, encodeFrame(frameType.started, Buffer.from("x"))]],
    ["STARTED twice", [READY, STARTED, STARTED]],
    ["output before STARTED", [READY, output(frameType.stderr, "x")]],
    ["output of nothing", [READY, STARTED, encodeFrame(frameType.stdout)]],
    ["output above 64 KiB", [READY, STARTED, output(frameType.stdout, "x".repeat(65_537)).subarray(0, 8)]],
    ["an unknown frame", [READY, encodeFrame(0x06)]],
    ["a request from init", [READY, encodeFrame(frameType.request, Buffer.alloc(100))]],
    ["a malformed header", [READY, corrupted(STARTED, 2, 1)]],
    ["an exit without a start", [READY, report()]],
    [
      "a signal death without a start",
      [READY, report({ kind: reportKind.signaled, exitCode: -1, signal: 9 })],
    ],
    ["anything after the report", [READY, STARTED, report(), output(frameType.stdout, "x")]],
    ["two reports", [READY, STARTED, report(), report()]],
    ["a short report", [READY, STARTED, encodeFrame(frameType.report, encodeReport({}).subarray(0, 131))]],
    ["a huge report", [READY, STARTED, encodeFrame(frameType.report, Buffer.alloc(2000))]],
    ["an unknown kind", [READY, STARTED, report({ kind: 10 })]],
    ["an unknown stage", [READY, STARTED, report({ stage: 5 })]],
    ["an unknown stream", [READY, STARTED, report({ stream: 3 })]],
    [
      "an output limit of no stream",
      [READY, STARTED, report({ kind: reportKind.outputLimit, exitCode: -1 })],
    ],
    ["a set reserved byte", [READY, STARTED, corrupted(report(), 11, 1)]],
    ["exit code 256", [READY, STARTED, report({ exitCode: 256 })]],
    ["exit code -1 of an exit", [READY, STARTED, report({ exitCode: -1 })]],
    ["an exit code of a timeout", [READY, STARTED, report({ kind: reportKind.timedOut, exitCode: 0 })]],
    ["a signal of an exit", [READY, STARTED, report({ signal: 9 })]],
    ["signal 65", [READY, STARTED, report({ kind: reportKind.signaled, exitCode: -1, signal: 65 })]],
    ["more bytes than a number can hold", [READY, STARTED, report({ stdoutBytes: 1n << 60n })]],
    ["a message of another length", [READY, STARTED, corrupted(report({ message: "abc" }), 8 + 131, 2)]],
  ])("are refused: %s", (_, frames) => {
    expect(() => decode(frames)).toThrow(expect.objectContaining({ name: "ProtocolViolation" }));
    expect(() => decode(byteByByte(Buffer.concat(frames)))).toThrow(
      expect.objectContaining({ name: "ProtocolViolation" }),
    );
  });

  it("are refused when they answer a request that was never sent", () => {
    for (const frame of [STARTED, report({ kind: reportKind.terminated, exitCode: -1 })]) {
      expect(() => decode([READY, frame], "never")).toThrow("out of order");
    }
  });

  it("never make the decoder do anything but decode or refuse, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.boolean(), (noise, started) => {
        try {
          decode([READY, ...(started ? [STARTED] : []), Buffer.from(noise)]);
        } catch (error) {
          expect(error).toMatchObject({ name: "ProtocolViolation" });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
