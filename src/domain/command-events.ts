import type { CommandRecord, CommandState } from "./command.js";
import type { Effect, Outcome } from "./outcome.js";

/**
 * The events of a command's life and their ids. Each happens at most once and never before one with a lower id, so an id says
 * the same whoever asks and whenever; a command that skips a step leaves a gap.
 */
export const EVENT_IDS = {
  created: 1,
  awaiting_approval: 2,
  queued: 3,
  dispatched: 4,
  cancel_requested: 5,
  finished: 6,
} as const;

/** The name of one event. */
export type CommandEventName = keyof typeof EVENT_IDS;

/** One event of a command's life. Never holds output. */
export interface CommandEvent {
  readonly id: number;
  readonly name: CommandEventName;
  readonly commandId: string;
  readonly sessionId: string;
  /** The command's state right after it. */
  readonly state: CommandState;
  /** Milliseconds since the epoch; null where the record keeps no time of it. */
  readonly atMs: number | null;
  /** Only of `finished`. */
  readonly outcome: Outcome | null;
  readonly effect: Effect | null;
  readonly returncode: number | null;
}

/** The events that a record proves, in order. A later record of the same command has these and perhaps more behind them. */
export function commandEvents(record: CommandRecord): CommandEvent[] {
  const events: CommandEvent[] = [];
  const add = (
    name: CommandEventName,
    state: CommandState,
    atMs: number | null,
    end: Pick<CommandEvent, "outcome" | "effect" | "returncode"> = NO_END,
  ) => {
    events.push({
      id: EVENT_IDS[name],
      name,
      commandId: record.id,
      sessionId: record.sessionId,
      state,
      atMs,
      ...end,
    });
  };
  const wasAsked =
    record.state === "awaiting_approval" || record.approvalId !== null || record.decision.verdict === "ask";
  const wasDispatched = record.state === "dispatched" || record.dispatchedAtMs !== null;
  const wasQueued = record.state === "queued" || record.queuedAtMs !== null || wasDispatched;

  add("created", wasAsked ? "awaiting_approval" : wasQueued ? "queued" : "finished", record.createdAtMs);
  if (wasAsked) add("awaiting_approval", "awaiting_approval", record.createdAtMs);
  if (wasQueued) add("queued", "queued", record.queuedAtMs);
  if (wasDispatched) add("dispatched", "dispatched", record.dispatchedAtMs);
  if (wasDispatched && record.cancelRequested) add("cancel_requested", "dispatched", null);
  if (record.state === "finished") {
    add("finished", "finished", record.finishedAtMs, {
      outcome: record.result?.outcome ?? null,
      effect: record.result?.effect ?? null,
      returncode: record.result?.returncode ?? null,
    });
  }
  return events;
}

const NO_END = { outcome: null, effect: null, returncode: null } as const;
