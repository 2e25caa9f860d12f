import fc from "fast-check";
import { expect, test } from "vitest";
import type { CommandRequest } from "../../../src/domain/command.js";
import type { Ending } from "../../../src/domain/outcome.js";
import { dispatchedResult } from "../../../src/domain/result.js";

const request: CommandRequest = {
  argv: ["x"],
  cwd: ".",
  timeoutMs: 1000,
  maxStdoutChars: 200_000,
  maxStderrChars: 200_000,
  sourceObjects: [],
  reason: null,
};
const completed: Ending = {
  outcome: "completed",
  effect: "completed",
  returncode: 3,
  signal: null,
  startFailure: null,
  detail: null,
};
const build = (text: string, ending: Ending, persistenceBytes: number) =>
  dispatchedResult({
    ending,
    stdout: { bytes: Buffer.from(text), seenBytes: Buffer.byteLength(text), sha256: "aa" },
    stderr: { bytes: new Uint8Array(), seenBytes: 0, sha256: "bb" },
    report: null,
    request,
    serviceChars: 200_000,
    persistenceBytes,
    gitHardened: false,
    wallMs: 5,
  });

test("a result past the persistence bound keeps returncode, counts and hashes, and loses only the text (FB-56)", () => {
  const result = build("é".repeat(100_000), completed, 100_000);
  expect(result).toMatchObject({
    outcome: "completed",
    effect: "unknown",
    returncode: 3,
    resultOmitted: true,
    output: null,
    stdout: { bytes: 200_000, sha256: "aa" },
  });
});

test("what is kept always fits the bound", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 4_000 }),
      fc.integer({ min: 2_000, max: 6_000 }),
      (text, bound) => {
        const result = build(text, completed, bound);
        expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(bound);
        expect(result.resultOmitted).toBe(result.output === null);
      },
    ),
  );
});

test("the output of a killed command is partial, that of a completed one is not", () => {
  const killed: Ending = { ...completed, outcome: "timed_out", effect: "unknown", returncode: null };
  expect(build("partial", killed, 10_000)).toMatchObject({ partial: true, output: { stdout: "partial" } });
  expect(build("whole", completed, 10_000)).toMatchObject({ partial: false });
});

test("a command that failed to start has no output", () => {
  const failed: Ending = { ...completed, outcome: "start_failed", effect: "none", returncode: null };
  expect(build("", failed, 10_000)).toMatchObject({ output: null, stdout: null, partial: false });
});
