import type { CommandRequest, CommandResult, StreamFacts } from "./command.js";
import { type Ending, type InitReport, neverStarted } from "./outcome.js";
import type { CapturedStream, NormalizedStream } from "./output.js";
import { normalizeStream } from "./output.js";

/** Builds the result of a dispatched command: every output cap in its order, then the persistence bound. */
export function dispatchedResult(input: {
  readonly ending: Ending;
  readonly stdout: CapturedStream;
  readonly stderr: CapturedStream;
  readonly report: InitReport | null;
  readonly request: CommandRequest;
  readonly serviceChars: number;
  readonly persistenceBytes: number;
  readonly gitHardened: boolean;
  readonly wallMs: number;
}): CommandResult {
  const { ending, report, request } = input;
  const stdout = normalizeStream(input.stdout, input.serviceChars, request.maxStdoutChars);
  const stderr = normalizeStream(input.stderr, input.serviceChars, request.maxStderrChars);
  const started = ending.outcome !== "start_failed";
  const result: CommandResult = {
    outcome: ending.outcome,
    effect: ending.effect,
    returncode: ending.returncode,
    signal: ending.signal,
    startFailure: ending.startFailure,
    detail: ending.detail,
    stdout: started ? streamFacts(stdout) : null,
    stderr: started ? streamFacts(stderr) : null,
    output: started ? { stdout: stdout.text, stderr: stderr.text } : null,
    partial: started && ending.outcome !== "completed",
    resultOmitted: false,
    usage: {
      wallMs: report?.wallMs ?? input.wallMs,
      cpuMs: report?.cpuMs ?? null,
      peakMemoryBytes: report?.peakMemoryBytes ?? null,
      oomKills: report?.oomKills ?? null,
    },
    gitHardened: input.gitHardened,
  };
  if (jsonBytes(result) <= input.persistenceBytes) return result;
  return {
    ...result,
    // The caller can't read what the command said, so for the caller its effect is not known.
    effect: ending.effect === "completed" ? "unknown" : ending.effect,
    output: null,
    resultOmitted: true,
  };
}

/** Builds the result of a command that never started. */
export function unstartedResult(ending: Ending): CommandResult {
  return {
    outcome: ending.outcome,
    effect: ending.effect,
    returncode: ending.returncode,
    signal: ending.signal,
    startFailure: ending.startFailure,
    detail: ending.detail,
    stdout: null,
    stderr: null,
    output: null,
    partial: false,
    resultOmitted: false,
    usage: null,
    gitHardened: false,
  };
}

/** The result of a command whose approval was not given, or not used, in time. */
export function approvalExpiredResult(): CommandResult {
  return unstartedResult(
    neverStarted("approval_expired", "nobody approved it in time, or it was not dispatched in time"),
  );
}

function streamFacts(stream: NormalizedStream): StreamFacts {
  return {
    bytes: stream.seenBytes,
    sha256: stream.sha256,
    truncated: stream.truncated,
    truncatedBy: stream.truncatedBy,
    utf8Replaced: stream.utf8Replaced,
  };
}

function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
