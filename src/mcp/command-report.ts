import { z } from "zod";
import { commandSchema } from "../contract/commands.js";
import { utf8Length } from "../domain/argv.js";
import { FINAL, refusalVerdict, UNKNOWN_EFFECT } from "./refusal-verdict.js";
import type { ToolCommand, ToolRefusal } from "./tool-backend.js";
import type { NextStep, ToolResult } from "./tool-result.js";
import { verdictShape } from "./tool-result.js";

/** A longer argv is not said back to the agent that sent it. */
const REPORTED_ARGV_BYTES = 16_384;

const { shape } = commandSchema;

const layerShape = shape.decision.shape.layers.element.shape;
const deniedBySchema = z
  .strictObject({
    layer: layerShape.layer,
    code: layerShape.code,
    reason: layerShape.reason,
    rule_id: layerShape.rule_id,
  })
  .meta({ description: "The layer of the decision that denied it." });

/** The structured result of the tools that run or await a command; one shape for every end and for every refusal. */
export const commandReportSchema = z.strictObject({
  ...verdictShape,
  command_id: z.string().nullable().meta({ description: "Null where nothing was admitted." }),
  argv: z
    .array(z.string())
    .nullable()
    .meta({ description: `As requested; null where it is longer than ${REPORTED_ARGV_BYTES} bytes.` }),
  cwd: z.string().nullable().meta({ description: "Relative to the workspace root." }),
  timeout_s: z.number().nullable(),
  state: shape.state.nullable(),
  outcome: shape.outcome,
  effect: shape.effect,
  returncode: shape.returncode,
  signal: shape.signal,
  stdout: shape.stdout,
  stderr: shape.stderr,
  stdout_truncated: shape.stdout_truncated,
  stderr_truncated: shape.stderr_truncated,
  stdout_bytes: shape.stdout_bytes,
  stderr_bytes: shape.stderr_bytes,
  partial_output: shape.partial_output,
  result_omitted: shape.result_omitted,
  start_failure: shape.start_failure,
  denied_by: deniedBySchema.nullable(),
  approval: shape.approval.meta({
    description: "What a person is asked, rendered as they see it; null unless the command waits for them.",
  }),
  duration_ms: shape.duration_ms,
});

/** A structured result of these tools. */
export type CommandReport = z.output<typeof commandReportSchema>;

const NOTHING: Omit<CommandReport, "message" | "next_step" | "error_code"> = {
  command_id: null,
  argv: null,
  cwd: null,
  timeout_s: null,
  state: null,
  outcome: null,
  effect: null,
  returncode: null,
  signal: null,
  stdout: null,
  stderr: null,
  stdout_truncated: false,
  stderr_truncated: false,
  stdout_bytes: null,
  stderr_bytes: null,
  partial_output: null,
  result_omitted: false,
  start_failure: null,
  denied_by: null,
  approval: null,
  duration_ms: null,
};

/**
 * A command as a tool's result. An error is every end without a whole result for the agent; a process that ended by
 * itself is none, whatever its returncode.
 */
export function reportCommand(command: ToolCommand): ToolResult {
  const { message, next_step } = verdictOf(command);
  const argvBytes = command.argv.reduce((sum, token) => sum + utf8Length(token), 0);
  const report: CommandReport = {
    message,
    next_step,
    error_code: command.outcome === "denied" ? "denied" : null,
    command_id: command.command_id,
    argv: argvBytes > REPORTED_ARGV_BYTES ? null : command.argv,
    cwd: command.cwd,
    timeout_s: command.timeout_s,
    state: command.state,
    outcome: command.outcome,
    effect: command.effect,
    returncode: command.returncode,
    signal: command.signal,
    stdout: command.stdout,
    stderr: command.stderr,
    stdout_truncated: command.stdout_truncated,
    stderr_truncated: command.stderr_truncated,
    stdout_bytes: command.stdout_bytes,
    stderr_bytes: command.stderr_bytes,
    partial_output: command.partial_output,
    result_omitted: command.result_omitted,
    start_failure: command.start_failure,
    denied_by: command.outcome === "denied" ? denialOf(command.decision) : null,
    approval: command.state === "awaiting_approval" ? command.approval : null,
    duration_ms: command.duration_ms,
  };
  return { isError: next_step !== "go_on" && next_step !== "await", structured: report };
}

/** A refusal of such a call, in the same shape. */
export function reportRefusal(refusal: ToolRefusal): ToolResult {
  const { message, next_step, effect } = refusalVerdict(refusal);
  const report: CommandReport = {
    ...NOTHING,
    message,
    next_step,
    error_code: refusal.code,
    command_id: refusal.commandId,
    ...(refusal.code === "denied" ? { state: "finished", outcome: "denied" } : {}),
    effect,
    denied_by: denialOf(refusal.decision),
  };
  return { isError: true, structured: report };
}

/** A command was admitted and can't be looked at now; null where it is not known which. */
export function reportLostSight(commandId: string | null): ToolResult {
  const report: CommandReport = {
    ...NOTHING,
    message:
      `${commandId ?? "A command"} was taken, and Bailiff can't say now what became of it. ${UNKNOWN_EFFECT} ` +
      "Call await_command later to learn its end.",
    next_step: "inspect",
    error_code: null,
    command_id: commandId,
    effect: "unknown",
  };
  return { isError: true, structured: report };
}

/** The session has not run anything. */
export function reportNoCommand(): ToolResult {
  const report: CommandReport = {
    ...NOTHING,
    message: "No command of this session was taken yet. Nothing ran.",
    next_step: "go_on",
    error_code: null,
    effect: "none",
  };
  return { isError: false, structured: report };
}

function denialOf(decision: ToolCommand["decision"] | null): CommandReport["denied_by"] {
  const denying = decision?.layers.find(({ verdict }) => verdict === "deny");
  if (denying === undefined) return null;
  const { layer, code, reason, rule_id } = denying;
  return { layer, code, reason, rule_id };
}

interface Verdict {
  readonly message: string;
  readonly next_step: NextStep;
}

function verdictOf(command: ToolCommand): Verdict {
  const killed = (why: string): Verdict => {
    const partial =
      command.partial_output === null
        ? ""
        : " partial_output has what it wrote until then: evidence, not a result.";
    return { message: `${why} ${UNKNOWN_EFFECT}${partial}`, next_step: "inspect" };
  };
  const final = (why: string): Verdict => ({ message: `${why} ${FINAL}`, next_step: "stop" });
  switch (command.outcome) {
    case null:
      return { message: waitingMessage(command), next_step: "await" };
    case "completed":
      return completed(command);
    case "denied": {
      const reason = denialOf(command.decision)?.reason ?? command.detail ?? "by policy";
      return final(`Denied: ${reason.replace(/[.\s]+$/, "")}.`);
    }
    case "approval_denied":
      return final("A person refused this command.");
    case "approval_expired":
      return final("No person approved this command in time.");
    case "cancelled":
      return command.effect === "none"
        ? final("The command was cancelled before it started.")
        : killed("The command was cancelled while it ran, and was killed.");
    case "start_failed":
      return {
        message: `The command did not start, and nothing ran: ${command.start_failure?.message ?? "it can't be executed"}.`,
        next_step: "correct",
      };
    case "timed_out":
      return killed(`The command passed its limit of ${command.timeout_s} s, and was killed.`);
    case "output_limit_exceeded":
      return killed("The command wrote more than is allowed, and was killed.");
    case "out_of_memory":
      return killed("The command ran out of memory, and was killed.");
    case "lost":
      return killed("The command was started, and nothing proves how it ended.");
  }
}

function completed(command: ToolCommand): Verdict {
  const signal = command.signal === null ? "" : ` (${command.signal})`;
  const ended = `The command ended by itself with returncode ${command.returncode ?? "unknown"}${signal}.`;
  if (command.result_omitted) {
    return {
      message:
        `${ended} Its output was too large to keep, so what it did is not known to you. Inspect the state before doing anything else; ` +
        "do not repeat the command to see its output: it has happened.",
      next_step: "inspect",
    };
  }
  const cuts = (["stdout", "stderr"] as const)
    .filter((stream) => command[`${stream}_truncated`])
    .map(
      (stream) =>
        ` ${stream} is cut: only the beginning of its ${command[`${stream}_bytes`] ?? 0} bytes is shown.`,
    );
  return { message: `${ended}${cuts.join("")}`, next_step: "go_on" };
}

/** One sentence about a command that has not ended; also the text of progress. */
export function progressMessage(command: ToolCommand): string {
  switch (command.state) {
    case "awaiting_approval": {
      const asked = command.approval === null ? "" : ` of ${command.approval.rendering.argv_summary}`;
      return `${command.command_id} has not run: it waits for a person's approval${asked}.`;
    }
    case "queued":
      return `${command.command_id} has not run: it is queued.`;
    case "dispatched":
      return `${command.command_id} is running.`;
    case "finished":
      return `${command.command_id} has ended.`;
  }
}

function waitingMessage(command: ToolCommand): string {
  return `${progressMessage(command)} Do not send it again: call await_command with this command_id to wait on.`;
}
