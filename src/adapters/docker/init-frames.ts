import type { InitReport } from "../../domain/outcome.js";
import { ProtocolViolation } from "./protocol-violation.js";

/** Version of the protocol both ends must speak. */
const INIT_PROTOCOL_VERSION = 1;

const HEADER_BYTES = 8;
const OUTPUT_MAX_BYTES = 64 * 1024;
const REPORT_FIXED_BYTES = 132;
const REPORT_MESSAGE_MAX_BYTES = 1024;
const REQUEST_MAX_BYTES = 4 * 1024 * 1024;
const ARGV_MAX_TOKENS = 4096;
const TOKEN_MAX_BYTES = 131_071;
const ARGV_MAX_BYTES = 1024 * 1024;
const CWD_MAX_BYTES = 4095;
const ENVIRONMENT_MAX_ENTRIES = 4096;
const ENVIRONMENT_MAX_BYTES = 1024 * 1024;
const UNKNOWN_U64 = 0xffff_ffff_ffff_ffffn;

const FRAME = {
  ready: 0x01,
  started: 0x02,
  stdout: 0x03,
  stderr: 0x04,
  report: 0x05,
  pong: 0x06,
  request: 0x10,
  cancel: 0x11,
  ping: 0x12,
};

const KINDS: Readonly<Record<number, InitReport["kind"]>> = {
  1: "exited",
  2: "signaled",
  3: "start_failed",
  4: "timed_out",
  5: "output_limit",
  6: "terminated",
  7: "owner_gone",
  8: "bad_request",
  9: "internal_error",
};
const STAGES: Readonly<Record<number, InitReport["stage"]>> = {
  0: "none",
  1: "chdir",
  2: "exec",
  3: "setup",
  4: "request",
};
const LIMIT_STREAMS: Readonly<Record<number, InitReport["limitStream"]>> = {
  0: null,
  1: "stdout",
  2: "stderr",
};

/** What a REQUEST frame says. */
export interface InitRequest {
  readonly argv: readonly string[];
  /** Absolute, as the container sees it. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly uid: number;
  readonly gid: number;
  readonly timeoutMs: number;
  readonly stdoutCaptureBytes: number;
  readonly stdoutHardBytes: number;
  readonly stderrCaptureBytes: number;
  readonly stderrHardBytes: number;
}

function text(name: string, value: string): Buffer {
  if (value.includes("\0")) throw new RangeError(`${name} holds a NUL`);
  // A lone surrogate would reach the program as other bytes than the caller sent.
  if (!value.isWellFormed()) throw new RangeError(`${name} is not well-formed Unicode`);
  return Buffer.from(value, "utf8");
}

function checkSizes(name: string, strings: readonly Buffer[], maxBytes: number): void {
  if (strings.some((bytes) => bytes.length > TOKEN_MAX_BYTES))
    throw new RangeError(`${name} has a string that is too long`);
  if (strings.reduce((sum, bytes) => sum + bytes.length, 0) > maxBytes)
    throw new RangeError(`${name} is too long`);
}

function whole(name: string, value: number, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw new RangeError(`${name} is out of range`);
  return value;
}

/**
 * The frame that asks for one process.
 * @throws RangeError that names the field, never its value, when init would refuse it.
 */
export function encodeRequest(request: InitRequest): Buffer {
  if (request.argv.length < 1 || request.argv.length > ARGV_MAX_TOKENS)
    throw new RangeError("argv has a bad length");
  const argv = request.argv.map((token) => text("argv", token));
  checkSizes("argv", argv, ARGV_MAX_BYTES);
  const cwd = text("cwd", request.cwd);
  if (!request.cwd.startsWith("/") || cwd.length > CWD_MAX_BYTES) throw new RangeError("cwd is not usable");
  const environment = Object.entries(request.environment).map(([name, value]) => {
    if (name === "" || name.includes("=")) throw new RangeError("environment has a bad name");
    return text("environment", `${name}=${value}`);
  });
  if (environment.length > ENVIRONMENT_MAX_ENTRIES) throw new RangeError("environment has too many entries");
  checkSizes("environment", environment, ENVIRONMENT_MAX_BYTES);

  const strings = [cwd, ...argv, ...environment];
  const length = 56 + 8 + strings.reduce((sum, bytes) => sum + 4 + bytes.length, 0);
  if (length > REQUEST_MAX_BYTES) throw new RangeError("the request is too large");
  const frame = Buffer.alloc(HEADER_BYTES + length);
  let at = 0;
  const u32 = (value: number) => {
    at = frame.writeUInt32BE(value, at);
  };
  const u64 = (value: number) => {
    at = frame.writeBigUInt64BE(BigInt(value), at);
  };
  const bytes = (value: Buffer) => {
    u32(value.length);
    at += value.copy(frame, at);
  };
  frame.writeUInt8(FRAME.request, 0);
  at = 4;
  u32(length);
  u32(INIT_PROTOCOL_VERSION);
  u32(0);
  u32(whole("uid", request.uid, 1, 0xffff_fffe));
  u32(whole("gid", request.gid, 1, 0xffff_fffe));
  u64(whole("timeoutMs", request.timeoutMs, 1, Number.MAX_SAFE_INTEGER));
  u64(whole("stdoutCaptureBytes", request.stdoutCaptureBytes, 0, request.stdoutHardBytes));
  u64(whole("stdoutHardBytes", request.stdoutHardBytes, 0, Number.MAX_SAFE_INTEGER));
  u64(whole("stderrCaptureBytes", request.stderrCaptureBytes, 0, request.stderrHardBytes));
  u64(whole("stderrHardBytes", request.stderrHardBytes, 0, Number.MAX_SAFE_INTEGER));
  bytes(cwd);
  u32(argv.length);
  for (const token of argv) bytes(token);
  u32(environment.length);
  for (const entry of environment) bytes(entry);
  return frame;
}

/** The frame that asks init to kill everything and report `terminated`. */
export function encodeCancel(): Buffer {
  return Buffer.from([FRAME.cancel, 0, 0, 0, 0, 0, 0, 0]);
}

/** The frame that asks an init without a request whether it still waits. */
export function encodePing(): Buffer {
  return Buffer.from([FRAME.ping, 0, 0, 0, 0, 0, 0, 0]);
}

/** What arrived. A slice is only valid during the call. */
export interface InitFrameSink {
  ready(): void;
  started(): void;
  stdout(slice: Uint8Array): void;
  stderr(slice: Uint8Array): void;
  report(report: InitReport): void;
  pong(): void;
}

/** Takes init's frames apart and holds them to their order, however their bytes are cut. */
export interface InitFrameDecoder {
  /** @throws ProtocolViolation on a frame that is unknown, malformed, oversized or out of order. */
  push(slice: Uint8Array): void;
  /** From now on a report may come: the broker has sent a request or a cancel. */
  expectReport(): void;
  /** One pong more may come: the broker has sent a ping. */
  expectPong(): void;
}

function safeNumber(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER))
    throw new ProtocolViolation("the report has a number that can't be");
  return Number(value);
}

function knownNumber(value: bigint): number | null {
  return value === UNKNOWN_U64 ? null : safeNumber(value);
}

/** @throws ProtocolViolation when the payload contradicts its layout or itself. */
function decodeReport(payload: Buffer): InitReport {
  const kind = KINDS[payload.readUInt8(0)];
  const stage = STAGES[payload.readUInt8(1)];
  const limitStream = LIMIT_STREAMS[payload.readUInt8(2)];
  if (kind === undefined || stage === undefined || limitStream === undefined || payload.readUInt8(3) !== 0) {
    throw new ProtocolViolation("the report is malformed");
  }
  const exitCode = payload.readInt32BE(8);
  const signal = payload.readInt32BE(12);
  if (kind === "exited" ? exitCode < 0 || exitCode > 255 : exitCode !== -1) {
    throw new ProtocolViolation("the report has an exit code that can't be");
  }
  if (kind === "signaled" ? signal < 1 || signal > 64 : signal !== 0) {
    throw new ProtocolViolation("the report has a signal that can't be");
  }
  if ((kind === "output_limit") !== (limitStream !== null))
    throw new ProtocolViolation("the report is malformed");
  if (payload.readUInt32BE(128) !== payload.length - REPORT_FIXED_BYTES) {
    throw new ProtocolViolation("the report has a message of another length");
  }
  const cpuUs = knownNumber(payload.readBigUInt64BE(112));
  return {
    kind,
    stage,
    limitStream,
    errno: payload.readInt32BE(4),
    exitCode: kind === "exited" ? exitCode : null,
    signal: kind === "signaled" ? signal : null,
    oomKills: knownNumber(payload.readBigUInt64BE(16)),
    stdoutBytes: safeNumber(payload.readBigUInt64BE(24)),
    stderrBytes: safeNumber(payload.readBigUInt64BE(32)),
    stdoutSha256: payload.toString("hex", 40, 72),
    stderrSha256: payload.toString("hex", 72, 104),
    wallMs: Math.round(safeNumber(payload.readBigUInt64BE(104)) / 1000),
    cpuMs: cpuUs === null ? null : Math.round(cpuUs / 1000),
    peakMemoryBytes: knownNumber(payload.readBigUInt64BE(120)),
    message: payload.toString("utf8", REPORT_FIXED_BYTES),
  };
}

/** Kinds that only a process which was executed can end with. */
const NEEDS_START: ReadonlySet<InitReport["kind"]> = new Set(["exited", "signaled", "output_limit"]);

/** Decoder for one container: READY, then after a request STARTED, output and one REPORT, then nothing. */
export function createInitFrameDecoder(sink: InitFrameSink): InitFrameDecoder {
  const header = Buffer.alloc(HEADER_BYTES);
  // READY and REPORT are collected here; output never is.
  const payload = Buffer.alloc(REPORT_FIXED_BYTES + REPORT_MESSAGE_MAX_BYTES);
  let headerFilled = 0;
  let payloadFilled = 0;
  let payloadLength = 0;
  let type = 0;
  let pongsDue = 0;
  let stage: "booting" | "idle" | "asked" | "started" | "reported" = "booting";

  const accept = () => {
    type = header.readUInt8(0);
    payloadLength = header.readUInt32BE(4);
    payloadFilled = 0;
    if (header.readUInt8(1) !== 0 || header.readUInt16BE(2) !== 0) {
      throw new ProtocolViolation("bailiff-init sent a malformed frame header");
    }
    const allowed = (inOrder: boolean, min: number, max: number) => {
      if (!inOrder) throw new ProtocolViolation("bailiff-init sent a frame out of order");
      if (payloadLength < min || payloadLength > max) {
        throw new ProtocolViolation("bailiff-init sent a frame of a length that can't be");
      }
    };
    switch (type) {
      case FRAME.ready:
        return allowed(stage === "booting", 4, 4);
      case FRAME.started:
        return allowed(stage === "asked", 0, 0);
      case FRAME.stdout:
      case FRAME.stderr:
        return allowed(stage === "started", 1, OUTPUT_MAX_BYTES);
      case FRAME.pong:
        return allowed(pongsDue > 0 && (stage === "idle" || stage === "asked"), 0, 0);
      case FRAME.report:
        return allowed(stage === "asked" || stage === "started", REPORT_FIXED_BYTES, payload.length);
      default:
        throw new ProtocolViolation("bailiff-init sent an unknown frame");
    }
  };

  const complete = () => {
    switch (type) {
      case FRAME.ready:
        if (payload.readUInt32BE(0) !== INIT_PROTOCOL_VERSION) {
          throw new ProtocolViolation("bailiff-init speaks another protocol version");
        }
        stage = "idle";
        return sink.ready();
      case FRAME.started:
        stage = "started";
        return sink.started();
      case FRAME.pong:
        pongsDue -= 1;
        return sink.pong();
      case FRAME.report: {
        const report = decodeReport(payload.subarray(0, payloadLength));
        if (NEEDS_START.has(report.kind) && stage !== "started") {
          throw new ProtocolViolation("bailiff-init reported the end of a process that never started");
        }
        stage = "reported";
        return sink.report(report);
      }
    }
  };

  return {
    push(slice) {
      let at = 0;
      while (at < slice.length) {
        if (headerFilled < HEADER_BYTES) {
          const take = Math.min(HEADER_BYTES - headerFilled, slice.length - at);
          header.set(slice.subarray(at, at + take), headerFilled);
          headerFilled += take;
          at += take;
          if (headerFilled < HEADER_BYTES) return;
          accept();
        }
        const part = slice.subarray(at, Math.min(slice.length, at + payloadLength - payloadFilled));
        if (part.length > 0) {
          if (type === FRAME.stdout) sink.stdout(part);
          else if (type === FRAME.stderr) sink.stderr(part);
          else payload.set(part, payloadFilled);
          payloadFilled += part.length;
          at += part.length;
        }
        if (payloadFilled === payloadLength) {
          headerFilled = 0;
          complete();
        }
      }
    },
    expectReport() {
      if (stage === "idle") stage = "asked";
    },
    expectPong() {
      pongsDue += 1;
    },
  };
}
