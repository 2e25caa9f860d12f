import { randomUUID } from "node:crypto";
import { z } from "zod";
import { commandSchema } from "../contract/commands.js";
import { problemSchema } from "../contract/problems.js";
import { type ToolBackend, type ToolCommand, ToolRefusal } from "../mcp/tool-backend.js";
import { type BrokerClient, BrokerRefusal } from "./broker-client.js";

// A newer service may answer with more members: the tools read the ones they know.
const toolCommandView = z.object(commandSchema.shape).pick({
  command_id: true,
  session_id: true,
  argv: true,
  cwd: true,
  timeout_s: true,
  state: true,
  outcome: true,
  effect: true,
  returncode: true,
  signal: true,
  detail: true,
  start_failure: true,
  stdout: true,
  stderr: true,
  partial_output: true,
  stdout_bytes: true,
  stderr_bytes: true,
  stdout_truncated: true,
  stderr_truncated: true,
  result_omitted: true,
  duration_ms: true,
  decision: true,
  approval: true,
});
const problemView = problemSchema.pick({ errors: true, command_id: true, decision: true });

const CALM = new AbortController().signal;

/** A service over HTTP, for the tools of one agent. The client repeats what may be. */
export function createHttpToolBackend(client: BrokerClient, sessionId: string): ToolBackend {
  const asked = async <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw new ToolRefusal("shutting_down", "the wait was ended", { cause: error });
      throw error instanceof BrokerRefusal ? refusalOf(error) : error;
    }
  };
  const commandOf = ({ whole }: { readonly whole: unknown }): ToolCommand & { session_id: string } => {
    const view = toolCommandView.safeParse(whole);
    if (view.success) return view.data;
    throw new ToolRefusal("unreachable", "the service answered with something else than a command");
  };
  return {
    async submit(submission) {
      const key = randomUUID();
      // The key makes a repeat safe: the command is admitted once.
      return commandOf(await asked(() => client.submit(sessionId, submission, key, 0, CALM), CALM));
    },
    async get(commandId, waitS, signal) {
      const command = commandOf(await asked(() => client.get(commandId, waitS, signal), signal));
      if (command.session_id !== sessionId)
        throw new ToolRefusal("not_found", "no such command in this session");
      return command;
    },
    newest: () => asked(() => client.newest(sessionId), CALM),
    changeDirectory: (path) => asked(() => client.setCwd(sessionId, path), CALM),
    explain: (submission) => asked(() => client.explain(sessionId, submission), CALM),
  };
}

function refusalOf(error: BrokerRefusal): ToolRefusal {
  const problem = problemView.safeParse(error.whole);
  return new ToolRefusal(error.code ?? "unreachable", error.message, {
    faults: problem.data?.errors ?? [],
    retryAfterS: error.retryAfterS,
    decision: problem.data?.decision ?? null,
    commandId: problem.data?.command_id ?? null,
    cause: error,
  });
}
