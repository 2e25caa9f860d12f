import { describe, expect, it } from "vitest";
import {
  commandSchema,
  commandSummarySchema,
  commandSummaryToWire,
  commandToWire,
} from "../../../src/contract/commands.js";
import type { CommandRecord, CommandResult } from "../../../src/domain/command.js";
import { lost, neverStarted } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import { completedResult, decisionOf } from "../../support/http/in-memory-services.js";

function recordOf(result: CommandResult | null, more: Partial<CommandRecord> = {}): CommandRecord {
  return {
    id: "cmd_1",
    tenant: "red",
    sessionId: "ses_1",
    workspaceId: "w1",
    principalId: "p1",
    profile: "default",
    imageDigest: "sha256:aa",
    pool: "pool-internal",
    request: {
      argv: ["git", "status"],
      cwd: ".",
      timeoutMs: 1_500,
      maxStdoutChars: 10,
      maxStderrChars: 20,
      sourceObjects: ["doc"],
      reason: "look",
    },
    decision: decisionOf("allow"),
    state: result === null ? "queued" : "finished",
    createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    queuedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 7),
    dispatchedAtMs: result === null ? null : Date.UTC(2026, 0, 2, 3, 4, 6),
    finishedAtMs: result === null ? null : Date.UTC(2026, 0, 2, 3, 4, 7),
    fence: "fen_internal",
    workerId: "wrk_internal",
    containerId: "c0ffee",
    cancelRequested: false,
    approvalId: null,
    result,
    ...more,
  };
}

const killed = (outcome: "timed_out" | "output_limit_exceeded" | "out_of_memory" | "cancelled") =>
  completedResult("partial", { outcome, effect: "unknown", returncode: null, partial: true });

describe("commandToWire", () => {
  it("shows a completed command whole", () => {
    const wire = commandToWire(recordOf(completedResult("out")));
    expect(wire).toMatchObject({
      state: "finished",
      outcome: "completed",
      effect: "completed",
      returncode: 0,
      stdout: "out",
      stderr: "",
      partial_output: null,
      timeout_s: 1.5,
      stdout_bytes: 3,
      utf8_replaced: { stdout: false, stderr: false },
      created_at: "2026-01-02T03:04:05.006Z",
      duration_ms: 1000,
      policy_version: "v1",
    });
    expect(commandSchema.parse(wire)).toEqual(wire);
  });

  it.each(["timed_out", "output_limit_exceeded", "out_of_memory", "cancelled"] as const)(
    "shows the output of a command that ended as %s only as partial evidence (FB-10)",
    (outcome) => {
      const wire = commandToWire(recordOf(killed(outcome)));
      expect(wire).toMatchObject({
        outcome,
        effect: "unknown",
        returncode: null,
        stdout: null,
        stderr: null,
        partial_output: { stdout: "partial", stderr: "" },
      });
      expect(commandSchema.parse(wire)).toEqual(wire);
    },
  );

  it("keeps the returncode, the counts and the hashes of an omitted result, and calls its effect unknown", () => {
    const wire = commandToWire(recordOf(completedResult("x", { output: null, resultOmitted: true })));
    expect(wire).toMatchObject({
      outcome: "completed",
      effect: "unknown",
      result_omitted: true,
      returncode: 0,
      stdout: null,
      stdout_bytes: 1,
      stdout_sha256: "00",
      partial_output: null,
    });
  });

  it("shows a command that never started without streams", () => {
    const wire = commandToWire(
      recordOf(unstartedResult(neverStarted("cancelled", null)), { dispatchedAtMs: null }),
    );
    expect(wire).toMatchObject({
      outcome: "cancelled",
      effect: "none",
      stdout: null,
      stdout_bytes: null,
      usage: null,
      duration_ms: null,
    });
    expect(commandSchema.parse(wire)).toEqual(wire);
  });

  it("shows a failed start with its stage and errno, and a lost command as unknown", () => {
    const failure = { stage: "exec", errno: "ENOENT", message: "argv[0]: not found" } as const;
    const failed = commandToWire(
      recordOf({
        ...unstartedResult(neverStarted("cancelled", null)),
        outcome: "start_failed",
        startFailure: failure,
      }),
    );
    expect(failed).toMatchObject({ outcome: "start_failed", effect: "none", start_failure: failure });
    expect(commandToWire(recordOf(unstartedResult(lost("gone"))))).toMatchObject({
      outcome: "lost",
      effect: "unknown",
      detail: "gone",
    });
  });

  it("shows a command that has not finished without an outcome", () => {
    const wire = commandToWire(recordOf(null));
    expect(wire).toMatchObject({
      state: "queued",
      outcome: null,
      effect: null,
      returncode: null,
      finished_at: null,
    });
    expect(commandSchema.parse(wire)).toEqual(wire);
  });

  it("never shows the fence, the worker, the pool or the tenant", () => {
    const text = JSON.stringify([
      commandToWire(recordOf(completedResult("x"))),
      commandSummaryToWire(recordOf(null)),
    ]);
    expect(text).not.toMatch(/internal|fence|worker_id|"red"|pool/);
  });
});

describe("commandSummaryToWire", () => {
  it("leaves out the text of the streams and a long argv", () => {
    const summary = commandSummaryToWire(recordOf(completedResult("secret text")));
    expect(JSON.stringify(summary)).not.toContain("secret text");
    expect(commandSummarySchema.parse(summary)).toEqual(summary);
    const record = recordOf(null);
    const long = { ...record, request: { ...record.request, argv: ["echo", "x".repeat(20_000)] } };
    expect(commandSummaryToWire(long).argv).toBeNull();
    expect(commandToWire(long).argv).toHaveLength(2);
  });
});
