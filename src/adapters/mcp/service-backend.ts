import { requireScope } from "../../app/access.js";
import type { BailiffServices } from "../../app/services.js";
import { commandToWire, submissionFromWire } from "../../contract/commands.js";
import { decisionToWire } from "../../contract/decisions.js";
import type { Decision } from "../../domain/decision/decision.js";
import { BailiffError, ERROR_TABLE } from "../../domain/errors.js";
import type { ServiceLimits } from "../../domain/limits.js";
import { type ToolBackend, ToolRefusal } from "../../mcp/tool-backend.js";
import type { Principal } from "../../ports/authenticator.js";
import { StoreUnavailable } from "../../ports/command-store.js";

const NEVER = new AbortController().signal;

/** The services of this process, for the tools of one agent. What is neither a refusal nor a fault of the store is thrown on. */
export function createServiceBackend(
  deps: { readonly services: BailiffServices; readonly limits: ServiceLimits },
  principal: Principal,
  sessionId: string,
): ToolBackend {
  const { services, limits } = deps;
  const asked = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw refusalOf(error);
    }
  };
  return {
    submit: (submission) =>
      asked(async () => {
        // Without it the end could not be told to the agent, and a command whose end nobody hears must not start.
        requireScope(principal, "commands:read");
        const { record } = await services.submitCommand(
          principal,
          sessionId,
          submissionFromWire(submission, limits),
          { idempotency: null, waitMs: 0, traceparent: null, signal: NEVER },
        );
        return commandToWire(record);
      }),
    get: (commandId, waitS, signal) =>
      asked(async () => {
        const record = await services.getCommand(principal, commandId, waitS * 1000, signal);
        if (record.sessionId !== sessionId)
          throw new BailiffError("not_found", "no such command in this session");
        return commandToWire(record);
      }),
    newest: () =>
      asked(async () => {
        const query = { sessionId, state: null, limit: 1, cursor: null };
        return (await services.listCommands(principal, query)).records[0]?.id ?? null;
      }),
    changeDirectory: (path) => asked(async () => (await services.setCwd(principal, sessionId, path)).cwd),
    explain: (submission) =>
      asked(async () =>
        decisionToWire(await services.explain(principal, sessionId, submissionFromWire(submission, limits))),
      ),
  };
}

function refusalOf(error: unknown): unknown {
  if (error instanceof StoreUnavailable)
    return new ToolRefusal("store_unavailable", "the store is unavailable", { cause: error });
  if (!(error instanceof BailiffError) || error.code === "internal") return error;
  const { decision, command_id } = error.extensions;
  // What a 5xx says inside is for the log.
  const message = ERROR_TABLE[error.code].status < 500 ? error.message : ERROR_TABLE[error.code].title;
  return new ToolRefusal(error.code, message, {
    faults: error.faults,
    retryAfterS: error.retryAfterMs === null ? null : Math.max(1, Math.ceil(error.retryAfterMs / 1000)),
    decision: decision === undefined ? null : decisionToWire(decision as Decision),
    commandId: typeof command_id === "string" ? command_id : null,
    cause: error,
  });
}
