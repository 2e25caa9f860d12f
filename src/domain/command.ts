import type { Approval } from "./approval/approval.js";
import type { Label } from "./data-flow/label.js";
import type { Charge } from "./decision/charge.js";
import type { Decision } from "./decision/decision.js";
import type { Effect, Outcome, StartFailure } from "./outcome.js";
import type { TruncationLayer } from "./output.js";
import type { SessionWebhook, WebhookDelivery } from "./webhook/webhook.js";

/** The life cycle; `docs/reliability.md` draws it. Only `finished` is final. */
export type CommandState = "awaiting_approval" | "queued" | "dispatched" | "finished";

/** What may happen to a command, and from which states. The Redis scripts enforce the same table. */
export const TRANSITIONS = {
  approve: { from: ["awaiting_approval"], to: "queued" },
  dispatch: { from: ["queued"], to: "dispatched" },
  finish: { from: ["dispatched"], to: "finished" },
  /** The end of a command that never started: denied at dispatch, cancelled, refused or expired. */
  end_unstarted: { from: ["awaiting_approval", "queued"], to: "finished" },
  /** Only by the holder of the fence, and only before its argv reached a container. */
  give_back: { from: ["dispatched"], to: "queued" },
} as const satisfies Record<string, { from: readonly CommandState[]; to: CommandState }>;

/** The name of one step of the life cycle. */
export type Transition = keyof typeof TRANSITIONS;

/** The state after a step, or null where the table does not allow it. */
export function stateAfter(state: CommandState, transition: Transition): CommandState | null {
  const row: { from: readonly CommandState[]; to: CommandState } = TRANSITIONS[transition];
  return row.from.includes(state) ? row.to : null;
}

/** What the caller asked for, after defaults were filled in. */
export interface CommandRequest {
  readonly argv: readonly string[];
  /** Canonical and relative to the workspace root: `.` or `a/b`. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly maxStdoutChars: number;
  readonly maxStderrChars: number;
  readonly sourceObjects: readonly string[];
  readonly reason: string | null;
}

/** One stream of a finished command, without its text. */
export interface StreamFacts {
  readonly bytes: number;
  readonly sha256: string | null;
  readonly truncated: boolean;
  readonly truncatedBy: readonly TruncationLayer[];
  readonly utf8Replaced: boolean;
}

/** What a command used; null where nothing measured it. */
export interface Usage {
  readonly wallMs: number;
  readonly cpuMs: number | null;
  readonly peakMemoryBytes: number | null;
  readonly oomKills: number | null;
}

/** The end of a command, as it is kept and shown. Never changed once written. */
export interface CommandResult {
  readonly outcome: Outcome;
  readonly effect: Effect;
  readonly returncode: number | null;
  readonly signal: string | null;
  readonly startFailure: StartFailure | null;
  readonly detail: string | null;
  readonly stdout: StreamFacts | null;
  readonly stderr: StreamFacts | null;
  /** The text of both streams; null where there is none, or where the persistence bound omitted it. */
  readonly output: { readonly stdout: string; readonly stderr: string } | null;
  /** True where `output` is not the whole of a command that ended by itself. */
  readonly partial: boolean;
  readonly resultOmitted: boolean;
  readonly usage: Usage | null;
  readonly gitHardened: boolean;
}

/** The durable truth about one command. `fence` is never shown to a caller. */
export interface CommandRecord {
  readonly id: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly workspaceId: string;
  readonly principalId: string;
  readonly profile: string;
  readonly imageDigest: string;
  readonly pool: string;
  readonly request: CommandRequest;
  readonly decision: Decision;
  readonly state: CommandState;
  readonly createdAtMs: number;
  readonly queuedAtMs: number | null;
  readonly dispatchedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly fence: string | null;
  readonly workerId: string | null;
  readonly containerId: string | null;
  readonly cancelRequested: boolean;
  readonly approvalId: string | null;
  /** Absent where nobody was asked. */
  readonly approval?: Approval;
  readonly result: CommandResult | null;
  /** Absent where nothing was reserved: a denial. */
  readonly charge?: Charge;
  /** The joined label it was dispatched with, which may be above that of its decision; absent before its dispatch. */
  readonly label?: Label;
  /** Its session's webhook as it was at the submit; absent where there was none. */
  readonly webhook?: SessionWebhook;
  /** The W3C trace context of its submit, for its spans in other processes; absent where there was none. */
  readonly traceparent?: string;
  /** Filled in where a command is shown; never part of what is stored with it. */
  readonly webhookDelivery?: WebhookDelivery;
}
