import { createHash } from "node:crypto";
import { type InitReport, reportKind } from "./init-protocol.js";

const ofNothing = createHash("sha256").digest("hex");

/** A REPORT payload as bailiff-init would write it, or as a hostile one might. */
export function encodeReport(overrides: Partial<InitReport>): Buffer {
  const report: InitReport = {
    kind: reportKind.exited,
    stage: 0,
    stream: 0,
    errno: 0,
    exitCode: 0,
    signal: 0,
    oomKills: 0n,
    stdoutBytes: 0n,
    stderrBytes: 0n,
    stdoutSha256: ofNothing,
    stderrSha256: ofNothing,
    wallUs: 0n,
    cpuUs: 0n,
    peakMemoryBytes: 0n,
    message: "",
    ...overrides,
  };
  const message = Buffer.from(report.message);
  const bytes = Buffer.alloc(132);
  bytes.writeUInt8(report.kind, 0);
  bytes.writeUInt8(report.stage, 1);
  bytes.writeUInt8(report.stream, 2);
  bytes.writeInt32BE(report.errno, 4);
  bytes.writeInt32BE(report.exitCode, 8);
  bytes.writeInt32BE(report.signal, 12);
  bytes.writeBigUInt64BE(report.oomKills, 16);
  bytes.writeBigUInt64BE(report.stdoutBytes, 24);
  bytes.writeBigUInt64BE(report.stderrBytes, 32);
  bytes.write(report.stdoutSha256, 40, "hex");
  bytes.write(report.stderrSha256, 72, "hex");
  bytes.writeBigUInt64BE(report.wallUs, 104);
  bytes.writeBigUInt64BE(report.cpuUs, 112);
  bytes.writeBigUInt64BE(report.peakMemoryBytes, 120);
  bytes.writeUInt32BE(message.length, 128);
  return Buffer.concat([bytes, message]);
}
