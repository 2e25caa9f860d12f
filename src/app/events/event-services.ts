import { commandEvents, EVENT_IDS } from "../../domain/command-events.js";
import type { CommandChanges } from "../../ports/command-changes.js";
import type { CommandStore } from "../../ports/command-store.js";
import { notFound, requireId, requireScope } from "../access.js";
import type { BailiffServices } from "../services.js";
import type { TenantSlots } from "../tenant-slots.js";

/** Use cases that tell of a command's life while it goes on. */
export function createEventServices(deps: {
  readonly commands: CommandStore;
  readonly changes: CommandChanges;
  readonly slots: TenantSlots;
}): Pick<BailiffServices, "followCommand"> {
  return {
    async followCommand(principal, commandId, afterId, signal) {
      requireScope(principal, "commands:read");
      requireId("cmd", "command", commandId);
      const record = await deps.commands.get(commandId);
      if (record === null || record.tenant !== principal.tenant) throw notFound("command");
      // `finished` is the last of all events: nothing can follow it.
      if (afterId >= EVENT_IDS.finished) return null;
      const release = deps.slots.take(principal.tenant);
      signal.addEventListener("abort", release, { once: true });

      return (onEvent, onEnd) => {
        let lastId = afterId;
        const end = () => {
          stop();
          signal.removeEventListener("abort", end);
          release();
          onEnd();
        };
        const stop = deps.changes.watch(
          commandId,
          (now) => {
            if (now === null) return end();
            for (const event of commandEvents(now)) {
              // Events come in the order of their ids, so this neither repeats nor skips one.
              if (event.id <= lastId) continue;
              lastId = event.id;
              onEvent(event);
            }
            if (now.state === "finished") end();
          },
          end,
        );
        signal.addEventListener("abort", end, { once: true });
        if (signal.aborted) end();
      };
    },
  };
}
