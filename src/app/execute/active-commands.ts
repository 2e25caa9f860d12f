/** One command between its claim and its recorded end. */
export interface ActiveCommand {
  readonly signal: AbortSignal;
  /** Ends the command; its end is still reported by bailiff-init. Idempotent. */
  cancel(reason: "cancelled" | "shutdown"): void;
  leave(): void;
}

/** The commands this worker has dispatched and not yet recorded, so that cancels and shutdown find them. */
export interface ActiveCommands {
  enter(commandId: string, containerId: string): ActiveCommand;
  /** Cancels one if it is here. */
  cancel(commandId: string): void;
  cancelAll(reason: "shutdown"): void;
  /** Containers that must not be swept. */
  containerIds(): ReadonlySet<string>;
  readonly size: number;
}

/** Builds an empty register. */
export function createActiveCommands(): ActiveCommands {
  const entries = new Map<string, { containerId: string; command: ActiveCommand }>();
  return {
    enter(commandId, containerId) {
      const controller = new AbortController();
      const command: ActiveCommand = {
        signal: controller.signal,
        cancel: (reason) => controller.abort(reason),
        leave: () => {
          if (entries.get(commandId)?.command === command) entries.delete(commandId);
        },
      };
      entries.set(commandId, { containerId, command });
      return command;
    },
    cancel: (commandId) => entries.get(commandId)?.command.cancel("cancelled"),
    cancelAll(reason) {
      for (const { command } of entries.values()) command.cancel(reason);
    },
    containerIds: () => new Set([...entries.values()].map((entry) => entry.containerId)),
    get size() {
      return entries.size;
    },
  };
}
