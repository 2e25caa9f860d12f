import type { InitReport } from "../../src/domain/outcome.js";

/** The report of a process that exited with 0 and wrote nothing, with what a test says otherwise. */
export function anInitReport(more: Partial<InitReport> = {}): InitReport {
  return {
    kind: "exited",
    stage: "none",
    limitStream: null,
    errno: 0,
    exitCode: 0,
    signal: null,
    oomKills: 0,
    stdoutBytes: 0,
    stderrBytes: 0,
    stdoutSha256: "",
    stderrSha256: "",
    wallMs: 1,
    cpuMs: 1,
    peakMemoryBytes: 1,
    message: "",
    ...more,
  };
}
