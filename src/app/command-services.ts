import type { CommandRecord } from "../domain/command.js";
import { neverStarted } from "../domain/outcome.js";
import { unstartedResult } from "../domain/result.js";
import type { Principal } from "../ports/authenticator.js";
import type { CommandQueue } from "../ports/command-queue.js";
import type { CancelAnswer, CommandStore } from "../ports/command-store.js";
import { notFound, requireId, requireScope } from "./access.js";
import type { BailiffServices } from "./services.js";

/** Cancels by id, whoever asks. Atomic against dispatch; the queue's envelope is withdrawn when it can be. */
export type CancelCommand = (commandId: string) => Promise<CancelAnswer>;

/** Builds the one way in which commands are cancelled. */
export function createCancelCommand(deps: {
  readonly commands: CommandStore;
  readonly queue: CommandQueue;
}): CancelCommand {
  return async (commandId) => {
    const result = unstartedResult(neverStarted("cancelled", null));
    const answer = await deps.commands.requestCancel(commandId, result);
    if (answer === "never_started") {
      const record = await deps.commands.get(commandId);
      // A leftover envelope is harmless: its claim is refused.
      if (record !== null) await deps.queue.withdraw(record.pool, commandId).catch(() => false);
    }
    return answer;
  };
}

/** Use cases that read and cancel commands. */
export function createCommandServices(deps: {
  readonly commands: CommandStore;
  readonly cancel: CancelCommand;
}): Pick<BailiffServices, "getCommand" | "listCommands" | "cancelCommand"> {
  const find = async (principal: Principal, commandId: string): Promise<CommandRecord> => {
    requireId("cmd", "command", commandId);
    const record = await deps.commands.get(commandId);
    if (record === null || record.tenant !== principal.tenant) throw notFound("command");
    return record;
  };

  return {
    async getCommand(principal, commandId, waitMs, signal) {
      requireScope(principal, "commands:read");
      const record = await find(principal, commandId);
      if (record.state === "finished" || waitMs === 0) return record;
      return (await deps.commands.waitForEnd(commandId, waitMs, signal)) ?? record;
    },

    async listCommands(principal, query) {
      requireScope(principal, "commands:read");
      return deps.commands.list({ tenant: principal.tenant, ...query });
    },

    async cancelCommand(principal, commandId) {
      requireScope(principal, "commands:write");
      await find(principal, commandId);
      await deps.cancel(commandId);
      return find(principal, commandId);
    },
  };
}
