import { describe, expect, test } from "vitest";
import { classifyReport, signalName } from "../../../src/domain/outcome.js";
import { anInitReport } from "../../support/init-report.js";

describe("classifyReport", () => {
  test("tells the five kinds of 137 apart (FB-19)", () => {
    const seen = [
      classifyReport(anInitReport({ exitCode: 137 })),
      classifyReport(anInitReport({ kind: "signaled", signal: 9 })),
      classifyReport(anInitReport({ kind: "signaled", signal: 9, oomKills: 1 })),
      classifyReport(anInitReport({ exitCode: 0, oomKills: 1 })),
      classifyReport(anInitReport({ kind: "timed_out" })),
    ].map(({ outcome, effect, returncode, signal }) => ({ outcome, effect, returncode, signal }));
    expect(seen).toEqual([
      { outcome: "completed", effect: "completed", returncode: 137, signal: null },
      { outcome: "completed", effect: "completed", returncode: 137, signal: "SIGKILL" },
      { outcome: "out_of_memory", effect: "unknown", returncode: null, signal: null },
      { outcome: "completed", effect: "completed", returncode: 0, signal: null },
      { outcome: "timed_out", effect: "unknown", returncode: null, signal: null },
    ]);
  });

  test("a program's own 126 and 127 are completed, an exec failure is start_failed with effect none (FB-23)", () => {
    expect(classifyReport(anInitReport({ exitCode: 127 }))).toMatchObject({
      outcome: "completed",
      returncode: 127,
    });
    expect(classifyReport(anInitReport({ kind: "start_failed", stage: "exec", errno: 2 }))).toMatchObject({
      outcome: "start_failed",
      effect: "none",
      returncode: null,
      startFailure: { stage: "exec", errno: "ENOENT" },
    });
    expect(classifyReport(anInitReport({ kind: "start_failed", stage: "chdir", errno: 20 }))).toMatchObject({
      startFailure: { stage: "chdir", errno: "ENOTDIR" },
    });
  });

  test("every killed or unproven end has effect unknown and no returncode", () => {
    for (const kind of ["timed_out", "output_limit", "terminated", "owner_gone", "internal_error"] as const) {
      expect(classifyReport(anInitReport({ kind, exitCode: 0 }))).toMatchObject({
        effect: "unknown",
        returncode: null,
      });
    }
  });

  test("a request that bailiff-init refused ran nothing", () => {
    expect(classifyReport(anInitReport({ kind: "bad_request" }))).toMatchObject({
      outcome: "start_failed",
      effect: "none",
    });
  });
});

test("signals have names, also those without one", () => {
  expect([signalName(15), signalName(34)]).toEqual(["SIGTERM", "SIG34"]);
});
