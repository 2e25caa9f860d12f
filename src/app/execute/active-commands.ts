import type { WorkspaceExcess } from "../../domain/workspace-growth.js";

/** Why a worker ends a command. */
export type EndReason = "cancelled" | "shutdown" | WorkspaceExcess;

/** One command from just before its claim to its recorded end. */
export interface ActiveCommand {
  readonly signal: AbortSignal;
  /** Ends the command; its end is still reported by bailiff-init. Idempotent. */
  cancel(reason: EndReason): void;
  leave(): void;
}

/** The commands this worker is about to dispatch or has not yet recorded, so that cancels and shutdown find them. */
export interface ActiveCommands {
  enter(commandId: string, containerId: string): ActiveCommand;
  /** Cancels one if it is here. */
  cancel(commandId: string): void;
  cancelAll(reason: "shutdown"): void;
  /** Containers that must not be swept. */
  containerIds(): ReadonlySet<string>;
  readonly size: number;
}

/** Builds an empty register. A stalled entry can bring a command a second time while the first still holds it: both are kept. */
export function createActiveCommands(): ActiveCommands {
  const entries = new Map<ActiveCommand, { commandId: string; containerId: string }>();
  return {
    enter(commandId, containerId) {
      const controller = new AbortController();
      const command: ActiveCommand = {
        signal: controller.signal,
        cancel: (reason) => controller.abort(reason),
        leave: () => void entries.delete(command),
      };
      entries.set(command, { commandId, containerId });
      return command;
    },
    cancel(commandId) {
      for (const [command, entry] of entries) if (entry.commandId === commandId) command.cancel("cancelled");
    },
    cancelAll(reason) {
      for (const command of entries.keys()) command.cancel(reason);
    },
    containerIds: () => new Set([...entries.values()].map((entry) => entry.containerId)),
    get size() {
      return entries.size;
    },
  };
}
