import type { CommandWire, SubmissionWire } from "../contract/commands.js";
import type { DecisionWire } from "../contract/decisions.js";
import type { FieldFault } from "../domain/errors.js";

/** What the tools read of a command. */
export type ToolCommand = Pick<
  CommandWire,
  | "command_id"
  | "argv"
  | "cwd"
  | "timeout_s"
  | "state"
  | "outcome"
  | "effect"
  | "returncode"
  | "signal"
  | "detail"
  | "start_failure"
  | "stdout"
  | "stderr"
  | "partial_output"
  | "stdout_bytes"
  | "stderr_bytes"
  | "stdout_truncated"
  | "stderr_truncated"
  | "result_omitted"
  | "duration_ms"
  | "decision"
  | "approval"
>;

/** What an agent says about a command; the rest of a submission is not an agent's to choose. */
export type ToolSubmission = Pick<
  SubmissionWire,
  "argv" | "timeout_s" | "max_stdout_chars" | "max_stderr_chars"
>;

/** Bailiff refused a call, or could not answer it. `code` is one of the stable codes. */
export class ToolRefusal extends Error {
  override readonly name = "ToolRefusal";
  readonly code: string;
  readonly faults: readonly FieldFault[];
  readonly retryAfterS: number | null;
  /** Of a denial. */
  readonly decision: DecisionWire | null;
  readonly commandId: string | null;
  constructor(
    code: string,
    message: string,
    more: {
      readonly faults?: readonly FieldFault[];
      readonly retryAfterS?: number | null;
      readonly decision?: DecisionWire | null;
      readonly commandId?: string | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.faults = more.faults ?? [];
    this.retryAfterS = more.retryAfterS ?? null;
    this.decision = more.decision ?? null;
    this.commandId = more.commandId ?? null;
  }
}

/**
 * Bailiff as the tools of one agent reach it: one principal, one Bailiff session. Every method throws ToolRefusal; an
 * aborted wait answers with the command as it is.
 */
export interface ToolBackend {
  /** Admits one command and does not wait for it. */
  submit(submission: ToolSubmission): Promise<ToolCommand>;
  /** The command, after at most `waitS` whole seconds or its end. A command of another session is `not_found`. */
  get(commandId: string, waitS: number, signal: AbortSignal): Promise<ToolCommand>;
  /** The id of the session's newest command; null where it has none. */
  newest(): Promise<string | null>;
  /** Moves the session; the new current directory, relative to the workspace root. */
  changeDirectory(path: string): Promise<string>;
  /** The decision a submit would get now. Consumes nothing. */
  explain(submission: ToolSubmission): Promise<DecisionWire>;
}
