/** Frame types of bailiff-init's protocol, version 1. */
export const frameType = {
  ready: 0x01,
  started: 0x02,
  stdout: 0x03,
  stderr: 0x04,
  report: 0x05,
  pong: 0x06,
  request: 0x10,
  cancel: 0x11,
  ping: 0x12,
} as const;

/** Values of a report's `kind`. */
export const reportKind = {
  exited: 1,
  signaled: 2,
  startFailed: 3,
  timedOut: 4,
  outputLimit: 5,
  terminated: 6,
  ownerGone: 7,
  badRequest: 8,
  internalError: 9,
} as const;

/** Values of a report's `stage`. */
export const reportStage = { none: 0, chdir: 1, exec: 2, setup: 3, request: 4 } as const;

/** A REQUEST as a test writes it. */
export interface InitRequest {
  argv: (string | Buffer)[];
  cwd: string | Buffer;
  environment: (string | Buffer)[];
  uid: number;
  gid: number;
  timeoutMs: number;
  stdoutCaptureBytes: number;
  stdoutHardBytes: number;
  stderrCaptureBytes: number;
  stderrHardBytes: number;
  version: number;
  flags: number;
}

/** The final report, decoded. Counters are bigint because all-ones means unknown. */
export interface InitReport {
  kind: number;
  stage: number;
  stream: number;
  errno: number;
  exitCode: number;
  signal: number;
  oomKills: bigint;
  stdoutBytes: bigint;
  stderrBytes: bigint;
  stdoutSha256: string;
  stderrSha256: string;
  wallUs: bigint;
  cpuUs: bigint;
  peakMemoryBytes: bigint;
  message: string;
}

export interface InitFrame {
  type: number;
  payload: Buffer;
}

export const testUid = 10_001;
export const testGid = 10_002;

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function sized(text: string | Buffer): Buffer[] {
  const bytes = Buffer.from(text as string);
  return [u32(bytes.length), bytes];
}

/** A REQUEST payload; what `overrides` leaves out is a harmless default. */
export function encodeRequest(overrides: Partial<InitRequest> & Pick<InitRequest, "argv">): Buffer {
  const request: InitRequest = {
    cwd: "/",
    environment: ["LANG=C.UTF-8"],
    uid: testUid,
    gid: testGid,
    timeoutMs: 20_000,
    stdoutCaptureBytes: 1 << 20,
    stdoutHardBytes: 8 << 20,
    stderrCaptureBytes: 1 << 20,
    stderrHardBytes: 8 << 20,
    version: 1,
    flags: 0,
    ...overrides,
  };
  return Buffer.concat([
    u32(request.version),
    u32(request.flags),
    u32(request.uid),
    u32(request.gid),
    u64(request.timeoutMs),
    u64(request.stdoutCaptureBytes),
    u64(request.stdoutHardBytes),
    u64(request.stderrCaptureBytes),
    u64(request.stderrHardBytes),
    ...sized(request.cwd),
    u32(request.argv.length),
    ...request.argv.flatMap(sized),
    u32(request.environment.length),
    ...request.environment.flatMap(sized),
  ]);
}

/** One frame: header and payload. */
export function encodeFrame(type: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from([type, 0, 0, 0]), u32(payload.length), payload]);
}

/** Decodes a REPORT payload; throws on a wrong length. */
export function decodeReport(payload: Buffer): InitReport {
  const messageBytes = payload.readUInt32BE(128);
  if (payload.length !== 132 + messageBytes) throw new Error("report has a wrong length");
  return {
    kind: payload.readUInt8(0),
    stage: payload.readUInt8(1),
    stream: payload.readUInt8(2),
    errno: payload.readInt32BE(4),
    exitCode: payload.readInt32BE(8),
    signal: payload.readInt32BE(12),
    oomKills: payload.readBigUInt64BE(16),
    stdoutBytes: payload.readBigUInt64BE(24),
    stderrBytes: payload.readBigUInt64BE(32),
    stdoutSha256: payload.toString("hex", 40, 72),
    stderrSha256: payload.toString("hex", 72, 104),
    wallUs: payload.readBigUInt64BE(104),
    cpuUs: payload.readBigUInt64BE(112),
    peakMemoryBytes: payload.readBigUInt64BE(120),
    message: payload.toString("utf8", 132),
  };
}

/** Splits bytes into frames and what is left of an incomplete one; throws when a header is malformed. */
export function decodeFrames(bytes: Buffer): { frames: InitFrame[]; rest: Buffer } {
  const frames: InitFrame[] = [];
  let at = 0;
  while (at + 8 <= bytes.length) {
    if (bytes.readUIntBE(at + 1, 3) !== 0) throw new Error("frame header is malformed");
    const end = at + 8 + bytes.readUInt32BE(at + 4);
    if (end > bytes.length) break;
    frames.push({ type: bytes.readUInt8(at), payload: bytes.subarray(at + 8, end) });
    at = end;
  }
  return { frames, rest: bytes.subarray(at) };
}

/**
 * Whether a REQUEST payload keeps every rule of the protocol. Written from the protocol's text and not from the C
 * parser, so that the two can be compared.
 */
export function isValidRequest(payload: Buffer): boolean {
  let at = 0;
  const number = (): number => {
    const value = payload.readUInt32BE(at);
    at += 4;
    return value;
  };
  const long = (): bigint => {
    const value = payload.readBigUInt64BE(at);
    at += 8;
    return value;
  };
  const text = (maxBytes: number): Buffer => {
    const length = number();
    if (length > maxBytes || length > payload.length - at) throw new RangeError();
    const value = payload.subarray(at, at + length);
    at += length;
    if (value.includes(0)) throw new RangeError();
    return value;
  };
  const list = (maxCount: number): Buffer[] => {
    const count = number();
    if (count > maxCount) throw new RangeError();
    return Array.from({ length: count }, () => text(131_071));
  };
  const total = (list: Buffer[]): number => list.reduce((sum, item) => sum + item.length, 0);
  try {
    const [version, flags, uid, gid] = [number(), number(), number(), number()];
    const timeoutMs = long();
    const caps = [long(), long(), long(), long()] as const;
    const cwd = text(4095);
    const argv = list(4096);
    const environment = list(4096);
    return (
      at === payload.length &&
      version === 1 &&
      flags === 0 &&
      ![0, 0xffffffff].includes(uid) &&
      ![0, 0xffffffff].includes(gid) &&
      timeoutMs > 0n &&
      caps[0] <= caps[1] &&
      caps[2] <= caps[3] &&
      cwd[0] === 0x2f &&
      argv.length > 0 &&
      total(argv) <= 1 << 20 &&
      total(environment) <= 1 << 20 &&
      environment.every((entry) => entry.indexOf("=") > 0)
    );
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
