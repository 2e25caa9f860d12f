import { z } from "zod";
import { utf8Length } from "../domain/argv.js";
import type { CommandRecord, CommandResult, CommandState, StreamFacts } from "../domain/command.js";
import { isName } from "../domain/ids.js";
import type { ServiceLimits } from "../domain/limits.js";
import type { Effect, Outcome } from "../domain/outcome.js";
import type { TruncationLayer } from "../domain/output.js";
import { DELIVERY_STATES, WEBHOOK_EVENTS, type WebhookDelivery } from "../domain/webhook/webhook.js";
import { commandApprovalSchema, commandApprovalToWire } from "./approvals.js";
import { decisionSchema, decisionToWire } from "./decisions.js";
import { type LabelWire, labelSchema, labelToWire } from "./labels.js";
import { nextCursorSchema, pagingShape } from "./paging.js";
import { waitQuerySchema } from "./wait.js";
import {
  argvSchema,
  isoTime,
  isoTimeOrNull,
  shortListSchema,
  textSchema,
  timeSchema,
} from "./wire-values.js";

/** Where a command can stand. */
export const STATES = [
  "awaiting_approval",
  "queued",
  "dispatched",
  "finished",
] as const satisfies readonly CommandState[];
/** How a command can end. */
export const OUTCOMES = [
  "completed",
  "denied",
  "approval_denied",
  "approval_expired",
  "cancelled",
  "start_failed",
  "timed_out",
  "output_limit_exceeded",
  "out_of_memory",
  "lost",
] as const satisfies readonly Outcome[];
/** What an end can mean for the outside world. */
export const EFFECTS = ["none", "completed", "unknown"] as const satisfies readonly Effect[];
const TRUNCATION_LAYERS = [
  "capture_bytes",
  "service_chars",
  "request_chars",
] as const satisfies readonly TruncationLayer[];

/** The bounds of a service that a caller meets in a submission. */
export type CallBounds = Pick<
  ServiceLimits,
  "defaultTimeoutMs" | "hardTimeoutMs" | "defaultCallChars" | "hardCallChars"
>;

/** The members of a submission; also part of an explain. */
export function submissionShape(limits: CallBounds) {
  const chars = (stream: string) =>
    z
      .int()
      .min(0)
      .max(limits.hardCallChars)
      .optional()
      .meta({
        default: limits.defaultCallChars,
        description: `At most this many code points of ${stream}; ${limits.defaultCallChars} unless told.`,
      });
  return {
    argv: argvSchema(),
    timeout_s: z
      .number()
      .gt(0)
      .max(limits.hardTimeoutMs / 1000)
      .optional()
      .meta({
        default: limits.defaultTimeoutMs / 1000,
        description: `Seconds until it is killed, fractions allowed; ${limits.defaultTimeoutMs / 1000} unless told.`,
      }),
    max_stdout_chars: chars("stdout"),
    max_stderr_chars: chars("stderr"),
    source_objects: shortListSchema({
      maxItems: 256,
      maxItemBytes: 63,
      faultOf: (item) => (isName(item) ? null : "must be the name of a source object"),
      description: "What the agent read and the command uses; their labels flow into it.",
    }).optional(),
    reason: textSchema({
      maxBytes: 4096,
      description: "Why, for the person who decides and for the evidence.",
    }).optional(),
  };
}

/** The body of a submit. Unknown keys are refused: what is not here can't be asked for. */
export function submissionSchema(limits: ServiceLimits) {
  return z.strictObject(submissionShape(limits));
}

/** A submission as the caller sent it. */
export type SubmissionWire = z.output<ReturnType<typeof submissionSchema>>;

/** A submission in the units of the domain, defaults filled in. */
export function submissionFromWire(wire: SubmissionWire, limits: ServiceLimits) {
  return {
    argv: wire.argv,
    // A timeout above 0 never becomes none: 0.0001 s is 1 ms.
    timeoutMs:
      wire.timeout_s === undefined ? limits.defaultTimeoutMs : Math.max(1, Math.round(wire.timeout_s * 1000)),
    // Adding 0 turns -0 into 0.
    maxStdoutChars: (wire.max_stdout_chars ?? limits.defaultCallChars) + 0,
    maxStderrChars: (wire.max_stderr_chars ?? limits.defaultCallChars) + 0,
    sourceObjects: wire.source_objects ?? [],
    reason: wire.reason ?? null,
  };
}

/** `?wait=` of a submit and of a get. */
export const waitOnlyQuerySchema = z.strictObject({ wait: waitQuerySchema.optional() });

/** `GET /v1/commands`. */
export const commandListQuerySchema = z.strictObject({
  session: z.string().optional().meta({ description: "Only this session's." }),
  state: z.enum(STATES).optional(),
  ...pagingShape,
});

const partialOutputSchema = z.strictObject({ stdout: z.string(), stderr: z.string() }).meta({
  description: "What was captured before the command was killed: evidence, not a result.",
});

/** Where a delivery stands. */
export const deliverySchema = z
  .strictObject({
    event: z.enum(WEBHOOK_EVENTS),
    state: z.enum(DELIVERY_STATES).meta({
      description: "`failed`: given up. `blocked`: its target may not be reached; nothing was sent.",
    }),
    attempts: z.int().meta({ description: "Attempts begun." }),
    last_status: z.int().nullable(),
    last_error_code: z.string().nullable().meta({ description: "Stable." }),
    next_attempt_at: timeSchema.nullable(),
    delivered_at: timeSchema.nullable(),
  })
  .meta({
    description:
      "Where the delivery of the latest event stands; null where the session's webhook was owed none.",
  });

const recordShape = {
  command_id: z.string(),
  session_id: z.string(),
  workspace_id: z.string(),
  cwd: z.string().meta({ description: "Relative to the workspace root." }),
  timeout_s: z.number(),
  max_stdout_chars: z.int(),
  max_stderr_chars: z.int(),
  source_objects: z.array(z.string()),
  reason: z.string().nullable(),
  state: z.enum(STATES),
  outcome: z.enum(OUTCOMES).nullable().meta({ description: "How it ended; null until `finished`." }),
  effect: z.enum(EFFECTS).nullable().meta({
    description: "What that means for the outside world. On `unknown`, look before anything is done again.",
  }),
  returncode: z
    .int()
    .nullable()
    .meta({ description: "Of a process that ended by itself; 128+n for a signal." }),
  signal: z.string().nullable(),
  detail: z.string().nullable(),
  start_failure: z
    .strictObject({
      stage: z.enum(["chdir", "exec", "setup", "container"]),
      errno: z.string(),
      message: z.string(),
    })
    .nullable(),
  stdout_bytes: z.int().nullable().meta({ description: "Bytes the command wrote, also those not kept." }),
  stderr_bytes: z.int().nullable(),
  stdout_sha256: z.string().nullable().meta({ description: "Over all bytes the command wrote." }),
  stderr_sha256: z.string().nullable(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
  stdout_truncated_by: z.array(z.enum(TRUNCATION_LAYERS)),
  stderr_truncated_by: z.array(z.enum(TRUNCATION_LAYERS)),
  utf8_replaced: z.strictObject({ stdout: z.boolean(), stderr: z.boolean() }),
  result_omitted: z
    .boolean()
    .meta({ description: "The text passed the persistence bound and was not kept." }),
  usage: z
    .strictObject({
      wall_ms: z.number(),
      cpu_ms: z.number().nullable(),
      peak_memory_bytes: z.number().nullable(),
      oom_kills: z.int().nullable(),
    })
    .nullable(),
  label: labelSchema.nullable().meta({
    description: "Of everything it was given and so of what it says: joined, never a lower one.",
  }),
  git_hardened: z.boolean(),
  profile: z.string(),
  image_digest: z.string(),
  policy_version: z.string(),
  approval_id: z.string().nullable(),
  container_id: z.string().nullable(),
  cancel_requested: z.boolean(),
  created_at: timeSchema,
  queued_at: timeSchema.nullable(),
  dispatched_at: timeSchema.nullable(),
  finished_at: timeSchema.nullable(),
  duration_ms: z.number().nullable().meta({ description: "From dispatch to the end." }),
};

/** A longer argv is left out of listings: a page of them would be hundreds of megabytes. */
const LISTED_ARGV_BYTES = 16_384;

/** A command in a listing: everything but the text of its streams and its decision. */
export const commandSummarySchema = z
  .strictObject({
    ...recordShape,
    argv: z
      .array(z.string())
      .nullable()
      .meta({ description: `Null where it is longer than ${LISTED_ARGV_BYTES} bytes: get the command.` }),
  })
  .meta({ id: "CommandSummary" });

/** A command with its result. */
export const commandSchema = z
  .strictObject({
    ...recordShape,
    argv: z.array(z.string()).meta({ description: "As requested, also where dispatch hardened it." }),
    stdout: z.string().nullable().meta({ description: "Null where there is no whole result to show." }),
    stderr: z.string().nullable(),
    partial_output: partialOutputSchema.nullable(),
    decision: decisionSchema,
    approval: commandApprovalSchema.nullable().meta({ description: "Null where nobody was asked." }),
    webhook: deliverySchema.nullable(),
  })
  .meta({ id: "Command" });

/** A command in a listing, on the wire. */
export type CommandSummaryWire = z.output<typeof commandSummarySchema>;
/** A command on the wire. */
export type CommandWire = z.output<typeof commandSchema>;

/** One page of commands, newest first. */
export const commandPageSchema = z
  .strictObject({
    commands: z.array(commandSummarySchema),
    next_cursor: nextCursorSchema,
  })
  .meta({ id: "CommandPage" });

/** What the caller may conclude: without its text, a result proves nothing to the caller. */
function effectForCaller(result: CommandResult): Effect {
  return result.resultOmitted && result.effect === "completed" ? "unknown" : result.effect;
}

function streamToWire(facts: StreamFacts | null) {
  return {
    bytes: facts?.bytes ?? null,
    sha256: facts?.sha256 ?? null,
    truncated: facts?.truncated ?? false,
    truncatedBy: [...(facts?.truncatedBy ?? [])],
    replaced: facts?.utf8Replaced ?? false,
  };
}

/** As it was dispatched; before that, as it was decided. */
function labelOf(record: CommandRecord): LabelWire | null {
  const label = record.label ?? record.decision.effectiveLabel;
  return label === undefined ? null : labelToWire(label);
}

/** Member by member: the fence, the worker and the pool must not leave by accident. */
function recordToWire(record: CommandRecord): Omit<CommandSummaryWire, "argv"> {
  const { request, result } = record;
  const stdout = streamToWire(result?.stdout ?? null);
  const stderr = streamToWire(result?.stderr ?? null);
  const usage = result?.usage ?? null;
  const failure = result?.startFailure ?? null;
  return {
    command_id: record.id,
    session_id: record.sessionId,
    workspace_id: record.workspaceId,
    cwd: request.cwd,
    timeout_s: request.timeoutMs / 1000,
    max_stdout_chars: request.maxStdoutChars,
    max_stderr_chars: request.maxStderrChars,
    source_objects: [...request.sourceObjects],
    reason: request.reason,
    state: record.state,
    outcome: result?.outcome ?? null,
    effect: result === null ? null : effectForCaller(result),
    returncode: result?.returncode ?? null,
    signal: result?.signal ?? null,
    detail: result?.detail ?? null,
    start_failure:
      failure === null ? null : { stage: failure.stage, errno: failure.errno, message: failure.message },
    stdout_bytes: stdout.bytes,
    stderr_bytes: stderr.bytes,
    stdout_sha256: stdout.sha256,
    stderr_sha256: stderr.sha256,
    stdout_truncated: stdout.truncated,
    stderr_truncated: stderr.truncated,
    stdout_truncated_by: stdout.truncatedBy,
    stderr_truncated_by: stderr.truncatedBy,
    utf8_replaced: { stdout: stdout.replaced, stderr: stderr.replaced },
    result_omitted: result?.resultOmitted ?? false,
    usage:
      usage === null
        ? null
        : {
            wall_ms: usage.wallMs,
            cpu_ms: usage.cpuMs,
            peak_memory_bytes: usage.peakMemoryBytes,
            oom_kills: usage.oomKills,
          },
    label: labelOf(record),
    git_hardened: result?.gitHardened ?? record.decision.gitHardened,
    profile: record.profile,
    image_digest: record.imageDigest,
    policy_version: record.decision.policyVersion,
    approval_id: record.approvalId,
    container_id: record.containerId,
    cancel_requested: record.cancelRequested,
    created_at: isoTime(record.createdAtMs),
    queued_at: isoTimeOrNull(record.queuedAtMs),
    dispatched_at: isoTimeOrNull(record.dispatchedAtMs),
    finished_at: isoTimeOrNull(record.finishedAtMs),
    duration_ms:
      record.dispatchedAtMs === null || record.finishedAtMs === null
        ? null
        : Math.max(0, record.finishedAtMs - record.dispatchedAtMs),
  };
}

function deliveryToWire(delivery: WebhookDelivery) {
  return {
    event: delivery.event,
    state: delivery.state,
    attempts: delivery.attempts,
    last_status: delivery.lastStatus,
    last_error_code: delivery.lastErrorCode,
    next_attempt_at: isoTimeOrNull(delivery.nextAttemptAtMs),
    delivered_at: isoTimeOrNull(delivery.deliveredAtMs),
  };
}

/** Maps a record for a listing. */
export function commandSummaryToWire(record: CommandRecord): CommandSummaryWire {
  const argvBytes = record.request.argv.reduce((sum, token) => sum + utf8Length(token), 0);
  return { ...recordToWire(record), argv: argvBytes > LISTED_ARGV_BYTES ? null : [...record.request.argv] };
}

/** Maps a record. Output of a killed command appears under `partial_output` and nowhere else. */
export function commandToWire(record: CommandRecord): CommandWire {
  const output = record.result?.output ?? null;
  const partial = record.result?.partial ?? false;
  return {
    ...recordToWire(record),
    argv: [...record.request.argv],
    stdout: partial ? null : (output?.stdout ?? null),
    stderr: partial ? null : (output?.stderr ?? null),
    partial_output: partial && output !== null ? { stdout: output.stdout, stderr: output.stderr } : null,
    decision: decisionToWire(record.decision),
    approval: commandApprovalToWire(record),
    webhook: record.webhookDelivery === undefined ? null : deliveryToWire(record.webhookDelivery),
  };
}
