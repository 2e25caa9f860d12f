import { randomUUID } from "node:crypto";
import { type BrokerClient, BrokerRefusal, type CommandView } from "./broker-client.js";
import { type CliCommand, type CliStream, type CliWorld, UsageError } from "./cli-command.js";
import { clientOf, SERVICE_OPTIONS, sessionChoiceOf } from "./service-options.js";
import { escapeForTerminal } from "./terminal-text.js";

/** Below the longest wait the service takes, so that a proxy between has no reason to cut it. */
const WAIT_S = 25;

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
  [RUN_STATUS.cancelled, "Cancelled."],
  [RUN_STATUS.output_limit_exceeded, "Killed: too much output."],
  [RUN_STATUS.out_of_memory, "Killed: out of memory."],
  [RUN_STATUS.lost, "Lost: it was dispatched, and nothing proves how it ended."],
  [RUN_STATUS.timed_out, "Killed: timed out."],
  [RUN_STATUS.start_failed, "Could not be started."],
  [RUN_STATUS.not_found, "argv[0] was not found."],
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

function report(command: CommandView, world: CliWorld): void {
  const say = (text: string) => world.stderr.write(`bailiff: ${escapeForTerminal(text)}\n`);
  const output = command.partial_output ?? { stdout: command.stdout ?? "", stderr: command.stderr ?? "" };
  print(world.stdout, output.stdout);
  print(world.stderr, output.stderr);
  if (command.stdout_truncated) say(`stdout is cut (${command.stdout_truncated_by.join(", ")})`);
  if (command.stderr_truncated) say(`stderr is cut (${command.stderr_truncated_by.join(", ")})`);
  if (command.result_omitted) say("the output was too large to keep; only its size and hash are known");
  if (command.state === "awaiting_approval") say(`${command.command_id} waits for approval`);
  else if (command.outcome !== "completed") {
    const why = command.start_failure?.message ?? command.detail;
    const effect = command.effect === "unknown" ? "; what it did until then is unknown" : "";
    say(`${command.outcome}${why === null ? "" : `: ${why}`}${effect}`);
  } else if (command.signal !== null) say(`ended by ${command.signal}`);
}

/** Submits and follows to the end, or to the wait for approval. Ctrl-C asks the service to cancel and follows on. */
async function follow(
  client: BrokerClient,
  sessionId: string,
  body: { readonly argv: readonly string[]; readonly timeout_s?: number },
  world: CliWorld,
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
    let command = (await unlessInterrupted(submit(WAIT_S, interruption.signal))) ?? (await submit(0, calm));
    let cancelled = false;
    while (command.state === "queued" || command.state === "dispatched") {
      if (interruption.signal.aborted && !cancelled) {
        cancelled = true;
        world.stderr.write(`bailiff: cancelling ${escapeForTerminal(command.command_id)}\n`);
        await client.cancel(command.command_id);
      }
      const next = client.get(command.command_id, WAIT_S, cancelled ? calm : interruption.signal);
      command = (await unlessInterrupted(next)) ?? command;
    }
    return command;
  } finally {
    release();
  }
}

/** `bailiff run`: runs one argv through the service and behaves like the command itself. */
export function createRunCommand(deps: { readonly fetch: typeof fetch }): CliCommand {
  return {
    name: "run",
    summary: "Run one command through the service: print its streams, exit with its status.",
    operands: "ARGV...",
    operandsAfterDashes: true,
    options: {
      ...SERVICE_OPTIONS,
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
        try {
          command = await follow(client, opened ?? session ?? "", body, world);
        } finally {
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
