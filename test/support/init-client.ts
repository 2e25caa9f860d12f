import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import {
  decodeFrames,
  decodeReport,
  encodeFrame,
  encodeRequest,
  frameType,
  type InitReport,
  type InitRequest,
} from "./init-protocol.js";

/** Everything that one life of bailiff-init produced. */
export interface InitOutcome {
  frameTypes: number[];
  started: boolean;
  stdout: Buffer;
  stderr: Buffer;
  report: InitReport | undefined;
  exitCode: number | null;
  /** What init itself wrote to its stderr; anything there is a fault. */
  diagnostics: string;
}

/** A bailiff-init that runs as PID 1 of a PID namespace of its own. */
export interface InitProcess {
  send(bytes: Buffer): void;
  endInput(): void;
  /** Stops reading what init writes until `resumeReading`. */
  pauseReading(): void;
  resumeReading(): void;
  /** Resolves once a frame of this type has begun to arrive; rejects when init ended without it. */
  seen(type: number): Promise<void>;
  /** Init's process id as this process sees it. */
  pid(): Promise<number>;
  outcome: Promise<InitOutcome>;
}

/** Exactly the capabilities that a container's PID 1 has. */
const containerCapabilities = "-all,+setuid,+setgid,+setpcap,+kill";

function collect(stream: Readable): Buffer[] {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return chunks;
}

/** Follows frame headers through a byte stream without keeping the payloads. */
function createHeaderScanner(onFrame: (type: number) => void): (chunk: Buffer) => void {
  let header = Buffer.alloc(0);
  let payloadLeft = 0;
  return (chunk) => {
    let rest = chunk;
    while (rest.length > 0) {
      const skipped = Math.min(payloadLeft, rest.length);
      payloadLeft -= skipped;
      rest = rest.subarray(skipped);
      const taken = Math.min(8 - header.length, rest.length);
      header = Buffer.concat([header, rest.subarray(0, taken)]);
      rest = rest.subarray(taken);
      if (header.length < 8) continue;
      onFrame(header.readUInt8(0));
      payloadLeft = header.readUInt32BE(4);
      header = Buffer.alloc(0);
    }
  };
}

function toOutcome(bytes: Buffer, exitCode: number | null, diagnostics: string): InitOutcome {
  const { frames, rest } = decodeFrames(bytes);
  const payloads = (type: number): Buffer =>
    Buffer.concat(frames.filter((frame) => frame.type === type).map((frame) => frame.payload));
  const reports = frames.filter((frame) => frame.type === frameType.report);
  const last = reports.at(-1);
  if (
    reports.length > 1 ||
    (last !== undefined && rest.length > 0) ||
    (last !== undefined && frames.at(-1) !== last)
  )
    throw new Error("report is not final");
  return {
    frameTypes: frames.map((frame) => frame.type),
    started: frames.some((frame) => frame.type === frameType.started),
    stdout: payloads(frameType.stdout),
    stderr: payloads(frameType.stderr),
    report: last === undefined ? undefined : decodeReport(last.payload),
    exitCode,
    diagnostics,
  };
}

async function childOf(pid: number | undefined): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  const first = children.trim().split(" ")[0];
  if (first === undefined || first === "") throw new Error("process has no child");
  return Number(first);
}

/**
 * Starts `binary` as PID 1 of a fresh PID and mount namespace with a container's capabilities. Needs root.
 * Never start bailiff-init in another way: it kills every process it can see.
 */
export function startInit(binary: string): InitProcess {
  const namespace = ["--pid", "--fork", "--mount-proc", "--kill-child", "--"];
  const privileges = ["setpriv", `--bounding-set=${containerCapabilities}`, "--no-new-privs", "--"];
  const child: ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable } = spawn(
    "unshare",
    [...namespace, ...privileges, binary],
    {
      env: { PATH: process.env["PATH"], ASAN_OPTIONS: "detect_leaks=0" },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  const stderr = collect(child.stderr);
  const stdout = collect(child.stdout);
  const arrived = new Set<number>();
  const waiting = new Map<number, () => void>();
  const scan = createHeaderScanner((type) => {
    arrived.add(type);
    waiting.get(type)?.();
  });
  child.stdout.on("data", scan);
  // Init may end before it read everything: that is an outcome, not an error of the client.
  child.stdin.on("error", () => child.stdin.destroy());
  const closed = once(child, "close");
  const outcome = closed.then(([code]) =>
    toOutcome(Buffer.concat(stdout), code as number | null, Buffer.concat(stderr).toString()),
  );
  return {
    send: (bytes) => child.stdin.write(bytes),
    endInput: () => child.stdin.end(),
    pauseReading: () => child.stdout.pause(),
    resumeReading: () => child.stdout.resume(),
    seen: (type) =>
      new Promise((resolve, reject) => {
        if (arrived.has(type)) return resolve();
        waiting.set(type, resolve);
        closed.then(() => reject(new Error(`init ended without a frame of type ${type}`)), reject);
      }),
    pid: () => childOf(child.pid),
    outcome,
  };
}

/** One whole command: start, request, outcome. */
export async function runInit(
  binary: string,
  request: Partial<InitRequest> & Pick<InitRequest, "argv">,
): Promise<InitOutcome & { report: InitReport }> {
  const init = startInit(binary);
  init.send(encodeFrame(frameType.request, encodeRequest(request)));
  const outcome = await init.outcome;
  const { report } = outcome;
  if (report === undefined) throw new Error(`init ended without a report: ${outcome.diagnostics}`);
  return { ...outcome, report };
}
