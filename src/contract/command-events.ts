import { z } from "zod";
import { type CommandEvent, type CommandEventName, EVENT_IDS } from "../domain/command-events.js";
import { EFFECTS, OUTCOMES, STATES } from "./commands.js";
import { isoTimeOrNull, timeSchema } from "./wire-values.js";

const LAST_ID = EVENT_IDS.finished;

/** The `Last-Event-ID` header as an id; 0 where there is none, null for what is not one of our ids. */
export function lastEventId(header: string | undefined): number | null {
  if (header === undefined || header === "") return 0;
  return /^[0-9]$/.test(header) && Number(header) <= LAST_ID ? Number(header) : null;
}

/** The stream's body, for the reference; what each message holds. */
export const eventStreamSchema = z.custom<AsyncIterable<string> & NodeJS.ReadableStream>().meta({
  type: "string",
  description:
    "Server-sent events. `event` is one of created, awaiting_approval, queued, dispatched, cancel_requested, finished; " +
    "`id` goes up; `data` is JSON: command_id, session_id, event, state, outcome, effect, returncode, at, links. Never output.",
});

/** The data of one message. */
export const commandEventSchema = z.strictObject({
  command_id: z.string(),
  session_id: z.string(),
  event: z.enum(Object.keys(EVENT_IDS) as [CommandEventName, ...CommandEventName[]]),
  state: z.enum(STATES),
  outcome: z.enum(OUTCOMES).nullable(),
  effect: z.enum(EFFECTS).nullable(),
  returncode: z.int().nullable(),
  at: timeSchema.nullable(),
  links: z.strictObject({ command: z.string(), session: z.string() }),
});

/** One event as a message of the stream. */
export function eventToMessage(event: CommandEvent): string {
  const path = `/v1/commands/${event.commandId}`;
  const data: z.output<typeof commandEventSchema> = {
    command_id: event.commandId,
    session_id: event.sessionId,
    event: event.name,
    state: event.state,
    outcome: event.outcome,
    effect: event.effect,
    returncode: event.returncode,
    at: isoTimeOrNull(event.atMs),
    links: { command: path, session: `/v1/sessions/${event.sessionId}` },
  };
  return `event: ${event.name}\nid: ${event.id}\ndata: ${JSON.stringify(data)}\n\n`;
}
