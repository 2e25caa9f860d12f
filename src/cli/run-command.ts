import { randomUUID } from "node:crypto";
import { type BrokerClient, BrokerRefusal, type CommandView } from "./broker-client.js";
import { type CliCommand, type CliStream, type CliWorld, UsageError } from "./cli-command.js";
import { clientOf, SERVICE_OPTIONS, sessionChoiceOf } from "./service-options.js";
import { escapeForTerminal } from "./terminal-text.js";

/** Below the longest wait the service takes, so that a proxy between has no reason to cut it. */
const WAIT_S = 25;
/** Where a person watches, so that what they are told of the state is not old. */
const WATCHED_WAIT_S = 5;
/** Before that a wait needs no words. */
const PROGRESS_AFTER_S = 2;
const ERASE_LINE = "\r\u001b[2K";

/** Exit statuses of `bailiff run` where it is not the command's own. 124, 126 and 127 mean what they mean in a shell. */
const RUN_STATUS = {
  refused: 117,
  denied: 118,
  awaiting_approval: 119,
  cancelled: 120,
  output_limit_exceeded: 121,
  out_of_memory: 122,
  lost: 123,
  timed_out: 124,
  start_failed: 126,
  not_found: 127,
} as const;

const STATUS_MEANINGS: readonly (readonly [number, string])[] = [
  [RUN_STATUS.refused, "The service refused the request or can't be reached."],
  [RUN_STATUS.denied, "Denied, by policy or by a person; nothing ran."],
  [RUN_STATUS.awaiting_approval, "Waits for a person's approval; nothing ran yet."],
  [
    RUN_STATUS.cancelled,
    "Cancelled: it never started, or was killed with unknown effect; standard error says which.",
  ],
  [RUN_STATUS.output_limit_exceeded, "Killed, effect unknown: too much output."],
  [RUN_STATUS.out_of_memory, "Killed, effect unknown: out of memory."],
  [RUN_STATUS.lost, "Lost, effect unknown: it was dispatched, and nothing proves how it ended."],
  [RUN_STATUS.timed_out, "Killed, effect unknown: timed out."],
  [RUN_STATUS.start_failed, "Could not be started; nothing ran."],
  [RUN_STATUS.not_found, "argv[0] was not found; nothing ran."],
];

/** The exit status for a command that is finished or waits for approval. */
function statusOf(command: CommandView): number {
  if (command.state === "awaiting_approval") return RUN_STATUS.awaiting_approval;
  switch (command.outcome) {
    case "completed":
      return command.returncode ?? RUN_STATUS.lost;
    case "denied":
    case "approval_denied":
    case "approval_expired":
      return RUN_STATUS.denied;
    case "start_failed":
      return command.start_failure?.stage === "exec" && command.start_failure.errno === "ENOENT"
        ? RUN_STATUS.not_found
        : RUN_STATUS.start_failed;
    case "cancelled":
    case "timed_out":
    case "output_limit_exceeded":
    case "out_of_memory":
    case "lost":
      return RUN_STATUS[command.outcome];
    case null:
      return RUN_STATUS.lost;
  }
}

function timeoutOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^[0-9]+(?:\.[0-9]+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds > 0)) throw new UsageError("--timeout must be a number of seconds above 0");
  return seconds;
}

function print(stream: CliStream, text: string): void {
  if (text !== "") stream.write(stream.isTerminal ? escapeForTerminal(text) : text);
}

function sayHowToDecide({ command_id, approval_id }: CommandView, say: (text: string) => void): void {
  say(
    `${command_id} waits for a person: approval ${approval_id ?? "(of an id that the service does not tell)"}`,
  );
  if (approval_id === null) return;
  say(`to see what is asked: bailiff approvals show ${approval_id}`);
  say(`to decide: bailiff approvals approve ${approval_id}, or deny, with a reviewer's key`);
  say(`to see how it ended: bailiff commands show ${command_id}`);
}

function report(command: CommandView, world: CliWorld): void {
  const say = (text: string) => world.stderr.write(`bailiff: ${escapeForTerminal(text)}\n`);
  const output = command.partial_output ?? { stdout: command.stdout ?? "", stderr: command.stderr ?? "" };
  print(world.stdout, output.stdout);
  print(world.stderr, output.stderr);
  if (command.stdout_truncated) say(`stdout is cut (${command.stdout_truncated_by.join(", ")})`);
  if (command.stderr_truncated) say(`stderr is cut (${command.stderr_truncated_by.join(", ")})`);
  if (command.result_omitted) say("the output was too large to keep; only its size and hash are known");
  if (command.state === "awaiting_approval") sayHowToDecide(command, say);
  else if (command.outcome !== "completed") {
    const why = command.start_failure?.message ?? command.detail;
    const effect = command.effect === "unknown" ? "; what it did until then is unknown" : "";
    say(`${command.outcome}${why === null ? "" : `: ${why}`}${effect}`);
  } else if (command.signal !== null) say(`ended by ${command.signal}`);
}

/** Shows on standard error what is waited for, while a person watches. */
interface Progress {
  readonly waitS: number;
  /** What is waited for from now on. */
  waitingFor(what: string): void;
  /** Takes the line away, for what is to be written. */
  clear(): void;
  end(): void;
}

function createProgress(world: CliWorld, isQuiet: boolean, everySecond: RunDeps["everySecond"]): Progress {
  const { stderr } = world;
  if (isQuiet || !stderr.isTerminal)
    return { waitS: WAIT_S, waitingFor: () => undefined, clear: () => undefined, end: () => undefined };
  let what = "waiting for the service";
  let seconds = 0;
  let isShown = false;
  const clear = () => {
    if (isShown) stderr.write(ERASE_LINE);
    isShown = false;
  };
  const release = everySecond(() => {
    seconds += 1;
    if (seconds < PROGRESS_AFTER_S) return;
    stderr.write(`${ERASE_LINE}bailiff: ${escapeForTerminal(what)}, ${seconds} s; Ctrl-C cancels it`);
    isShown = true;
  });
  return {
    waitS: WATCHED_WAIT_S,
    waitingFor(next) {
      what = next;
    },
    clear,
    end() {
      release();
      clear();
    },
  };
}

/** Submits and follows to the end, or to the wait for approval where that is not waited for. Ctrl-C asks the service to cancel and follows on. */
async function follow(
  client: BrokerClient,
  sessionId: string,
  body: { readonly argv: readonly string[]; readonly timeout_s?: number },
  world: CliWorld,
  progress: Progress,
  waitsForApproval: boolean,
): Promise<CommandView> {
  const idempotencyKey = randomUUID();
  const interruption = new AbortController();
  const release = world.onInterrupt(() => interruption.abort());
  const calm = new AbortController().signal;
  const submit = (waitS: number, signal: AbortSignal) =>
    client.submit(sessionId, body, idempotencyKey, waitS, signal);
  const unlessInterrupted = async (ask: Promise<CommandView>): Promise<CommandView | null> => {
    try {
      return await ask;
    } catch (error) {
      if (!interruption.signal.aborted || error instanceof BrokerRefusal) throw error;
      return null;
    }
  };
  try {
    // An interrupted submit may have been admitted: asking again with its key gives the id to cancel.
    let command =
      (await unlessInterrupted(submit(progress.waitS, interruption.signal))) ?? (await submit(0, calm));
    let cancelled = false;
    let isTold = false;
    while (
      command.state === "queued" ||
      command.state === "dispatched" ||
      (command.state === "awaiting_approval" && waitsForApproval)
    ) {
      if (interruption.signal.aborted && !cancelled) {
        cancelled = true;
        progress.clear();
        world.stderr.write(`bailiff: cancelling ${escapeForTerminal(command.command_id)}\n`);
        await client.cancel(command.command_id);
      }
      if (command.state === "awaiting_approval" && !isTold) {
        isTold = true;
        progress.clear();
        sayHowToDecide(command, (text) => world.stderr.write(`bailiff: ${escapeForTerminal(text)}\n`));
      }
      progress.waitingFor(`${command.command_id} is ${WAITING_WORDS[command.state]}`);
      const next = client.get(command.command_id, progress.waitS, cancelled ? calm : interruption.signal);
      command = (await unlessInterrupted(next)) ?? command;
    }
    return command;
  } finally {
    release();
  }
}

const WAITING_WORDS = {
  awaiting_approval: "waiting for a person",
  queued: "queued",
  dispatched: "running",
} as const;

/** What `bailiff run` needs of the world. */
interface RunDeps {
  readonly fetch: typeof fetch;
  /** Calls back each second until the answer is called. */
  readonly everySecond: (callback: () => void) => () => void;
}

/** `bailiff run`: runs one argv through the service and behaves like the command itself. */
export function createRunCommand(deps: RunDeps): CliCommand {
  return {
    name: "run",
    summary: "Run one command through the service: print its streams, exit with its status.",
    operands: "ARGV...",
    operandsAfterDashes: true,
    options: {
      ...SERVICE_OPTIONS,
      "await-approval": {
        value: null,
        summary: "Where a person has to decide, wait for that and go on, instead of ending with 119.",
      },
      quiet: { value: null, summary: "Show no progress on a terminal." },
      timeout: { value: "SECONDS", summary: "Kill it after this; fractions allowed." },
      json: { value: null, summary: "Print the service's whole answer as JSON instead of the streams." },
    },
    statuses: [["N", "The command's own status; a signal n gives 128+n."], ...STATUS_MEANINGS],
    async run(call) {
      const { values, switches, operands, world } = call;
      if (operands.length === 0) throw new UsageError("there is nothing to run: put the argv after --");
      const { session, workspace } = sessionChoiceOf(call);
      const timeoutS = timeoutOf(values["timeout"]);
      const client = await clientOf(call, deps.fetch);
      const body = { argv: operands, ...(timeoutS === undefined ? {} : { timeout_s: timeoutS }) };
      try {
        const opened =
          workspace === undefined ? null : await client.openSession(workspace, values["profile"] ?? null);
        let command: CommandView | null = null;
        const progress = createProgress(world, switches.has("quiet"), deps.everySecond);
        try {
          const waits = switches.has("await-approval");
          command = await follow(client, opened ?? session ?? "", body, world, progress, waits);
        } finally {
          progress.end();
          // A session that closes takes its waiting commands with it: it stays open for one that waits for approval.
          if (opened !== null && command?.state !== "awaiting_approval") {
            await client.closeSession(opened).catch((error: Error) => {
              world.stderr.write(`bailiff: the session stays open: ${escapeForTerminal(error.message)}\n`);
            });
          }
        }
        if (switches.has("json")) world.stdout.write(`${JSON.stringify(command.whole)}\n`);
        else report(command, world);
        return statusOf(command);
      } catch (error) {
        if (!(error instanceof BrokerRefusal)) throw error;
        if (switches.has("json") && error.whole !== null)
          world.stdout.write(`${JSON.stringify(error.whole)}\n`);
        world.stderr.write(`bailiff: ${escapeForTerminal(error.message)}\n`);
        return error.code === "denied" ? RUN_STATUS.denied : RUN_STATUS.refused;
      }
    },
  };
}
