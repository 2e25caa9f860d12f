import type { CommandSummaryWire, SubmissionWire } from "../contract/commands.js";
import { boundedSignal, pause } from "./bounded-time.js";
import { type Command, commandOf, type FinishedCommand, isFinished } from "./command.js";
import { BailiffProblem, NoAnswer, withIdempotencyKey } from "./errors.js";
import { readEventMessages } from "./event-messages.js";
import { newIdempotencyKey } from "./idempotency-key.js";
import { itemsOf } from "./pages.js";
import { segmentOf } from "./path-segment.js";
import type { CallOptions, Transport } from "./transport.js";
import type { CommandEvent, CommandPage, CommandQuery } from "./wire.js";

/** Of a call that can wait for a command's end. */
export interface WaitOptions extends CallOptions {
  /** Whole seconds that the service waits for the end before it answers; 0 unless told, at most 60. */
  readonly waitS?: number | undefined;
}

/** Of a submit. */
export interface SubmitOptions extends CallOptions {
  /** A new one unless told. The same key with the same session and submission gives the same command. */
  readonly idempotencyKey?: string | undefined;
}

/** Of a stream of events. */
export interface EventOptions extends Pick<CallOptions, "signal" | "attempts"> {
  /** The `id` of the last event that is known; the stream goes on behind it. */
  readonly lastEventId?: string | undefined;
}

/** One event and the id to go on behind. */
export interface FollowedEvent extends CommandEvent {
  readonly id: string;
}

/** What can be done with commands. */
export interface Commands {
  /** Submits, and answers with the command as it stands after at most `waitS` seconds. A denial is a BailiffProblem `denied`. */
  submit(
    sessionId: string,
    submission: SubmissionWire,
    options?: SubmitOptions & WaitOptions,
  ): Promise<Command>;
  /** Submits and waits for the end, also while a person decides. Bound it by a signal or `timeoutMs`; leaving cancels nothing. */
  run(sessionId: string, submission: SubmissionWire, options?: SubmitOptions): Promise<FinishedCommand>;
  /** The command as it stands after at most `waitS` seconds. */
  get(commandId: string, options?: WaitOptions): Promise<Command>;
  /** Waits for the end. Bound it by a signal or `timeoutMs`; leaving cancels nothing. */
  wait(commandId: string, options?: CallOptions): Promise<FinishedCommand>;
  /** Asks for its end: it never starts, or it is killed. One that ran may still be pending in the answer: `wait` for its end. */
  cancel(commandId: string, options?: CallOptions): Promise<Command>;
  /** Every command that fits, newest first, page after page. */
  list(query?: CommandQuery, options?: CallOptions): AsyncIterable<CommandSummaryWire>;
  /** One page of them. */
  page(query?: CommandQuery, options?: CallOptions): Promise<CommandPage>;
  /** The events of its life, each once, across broken connections; ends behind `finished`. */
  events(commandId: string, options?: EventOptions): AsyncIterable<FollowedEvent>;
}

/** Below the longest wait that the service takes, so that a proxy between has no reason to cut it. */
const WAIT_S = 25;
/** A wait that ended much too early is not asked for again at once. */
const EARLY_MS = 1_000;
const EVENT_ATTEMPTS = 5;
/** Three times the service's own sign of life. */
const SILENCE_MS = 45_000;
const RECONNECT_MS = 1_000;

const pathOf = (commandId: string) => `/v1/commands/${segmentOf(commandId)}`;

/** The commands of one service. */
export function createCommands(transport: Transport): Commands {
  const submit: Commands["submit"] = async (sessionId, submission, options = {}) => {
    const key = options.idempotencyKey ?? newIdempotencyKey();
    const request = {
      method: "POST",
      path: `/v1/sessions/${segmentOf(sessionId)}/commands`,
      query: { wait: options.waitS },
      body: submission,
      headers: { "idempotency-key": key },
      // Only because of the key: a repeat joins the command that a lost answer was about.
      repeatable: true,
      waitS: options.waitS,
    };
    return withIdempotencyKey(key, async () => commandOf(await transport.json(request, options)));
  };

  const get: Commands["get"] = async (commandId, options = {}) => {
    const { waitS } = options;
    const request = {
      method: "GET",
      path: pathOf(commandId),
      query: { wait: waitS },
      repeatable: true,
      waitS,
    };
    return commandOf(await transport.json(request, options));
  };

  /** The rest of a wait, under one time limit for all of its requests. */
  const waitFrom = async (
    first: (options: WaitOptions) => Promise<Command>,
    options: CallOptions,
  ): Promise<FinishedCommand> => {
    const untilMs = Date.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    const left = (): CallOptions =>
      options.timeoutMs === undefined
        ? options
        : { ...options, timeoutMs: Math.max(1, untilMs - Date.now()) };
    let command = await first({ ...left(), waitS: WAIT_S });
    while (!isFinished(command)) {
      if (Date.now() >= untilMs) throw new NoAnswer("timeout", "the time for the call is over");
      const askedMs = Date.now();
      command = await get(command.command_id, { ...left(), waitS: WAIT_S });
      if (!isFinished(command) && Date.now() - askedMs < EARLY_MS) await pause(EARLY_MS, options.signal);
    }
    return command;
  };

  const page: Commands["page"] = async (query = {}, options) =>
    (await transport.json(
      { method: "GET", path: "/v1/commands", query, repeatable: true },
      options,
    )) as CommandPage;

  return {
    submit,
    get,
    page,
    run: (sessionId, submission, options = {}) => {
      // One key for the whole of it, whatever breaks in between.
      const idempotencyKey = options.idempotencyKey ?? newIdempotencyKey();
      return waitFrom((bounds) => submit(sessionId, submission, { ...bounds, idempotencyKey }), options);
    },
    wait: (commandId, options = {}) => waitFrom((bounds) => get(commandId, bounds), options),
    async cancel(commandId, options) {
      // To ask twice for the same end is to ask once.
      const request = { method: "POST", path: `${pathOf(commandId)}/cancel`, repeatable: true };
      return commandOf(await transport.json(request, options));
    },
    list: (query = {}, options) =>
      itemsOf(
        (cursor) => page({ ...query, cursor }, options),
        ({ commands }) => commands,
        query.cursor,
      ),
    events: (commandId, options = {}) => followEvents(transport, commandId, options),
  };
}

async function* followEvents(
  transport: Transport,
  commandId: string,
  options: EventOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const attempts = options.attempts ?? EVENT_ATTEMPTS;
  let lastId = options.lastEventId;
  let reconnectMs = RECONNECT_MS;
  let failures = 0;
  for (;;) {
    const silence = createSilenceWatch(options.signal);
    const answer = await transport.open(
      {
        method: "GET",
        path: `${pathOf(commandId)}/events`,
        headers: {
          accept: "text/event-stream",
          ...(lastId === undefined ? {} : { "last-event-id": lastId }),
        },
        repeatable: true,
      },
      { ...options, signal: silence.signal },
    );
    try {
      // Nothing can follow the event that is known.
      if (answer.response.status === 204 || answer.response.body === null) return;
      const hear = {
        onSign: silence.reset,
        onRetry: (ms: number) => {
          reconnectMs = ms;
        },
      };
      silence.reset();
      for await (const message of readEventMessages(answer.response.body, hear)) {
        if (message.id === null) continue;
        failures = 0;
        lastId = message.id;
        const event = eventOf(message.id, message.data);
        yield event;
        if (event.event === "finished") return;
      }
      failures += 1;
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (error instanceof NoAnswer || error instanceof BailiffProblem) throw error;
      failures += 1;
      if (failures >= attempts)
        throw new NoAnswer("unreachable", "the stream of events broke again and again", { cause: error });
    } finally {
      silence.release();
      answer.close();
    }
    if (failures >= attempts) throw new NoAnswer("unreachable", "the stream of events ended too early");
    await pause(reconnectMs + Math.random() * reconnectMs, options.signal);
  }
}

/** Ends a stream that says nothing for too long: its connection may be dead without anybody having said so. */
function createSilenceWatch(caller: AbortSignal | undefined) {
  const bound = boundedSignal(caller, Number.POSITIVE_INFINITY);
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    signal: bound.signal,
    reset() {
      clearTimeout(timer);
      timer = setTimeout(bound.abort, SILENCE_MS);
    },
    release() {
      clearTimeout(timer);
      bound.release();
    },
  };
}

function eventOf(id: string, data: string): FollowedEvent {
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    parsed = null;
  }
  if (typeof parsed === "object" && parsed !== null && "event" in parsed)
    return { ...(parsed as CommandEvent), id };
  throw new NoAnswer("unexpected", "the stream holds something else than an event");
}
