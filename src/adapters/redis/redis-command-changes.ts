import type { CommandRecord } from "../../domain/command.js";
import type { CommandChanges } from "../../ports/command-changes.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { ChangeWatch } from "./change-watch.js";

/** Command changes, and what ends them with the stores. */
export interface RedisCommandChanges extends CommandChanges {
  /** Ends every watch. */
  close(): void;
}

/** Follows records by the shared watch: one read at a time per follower, and one more for whatever came during it. */
export function createRedisCommandChanges(deps: {
  readonly watch: ChangeWatch;
  /** Reads one record without its output. */
  readonly read: (commandId: string) => Promise<CommandRecord | null>;
}): RedisCommandChanges {
  const open = new Set<() => void>();

  return {
    watch(commandId, onRecord, onClosed) {
      let stopped = false;
      let isReading = false;
      let isStale = false;

      const refresh = async () => {
        isStale = true;
        if (isReading) return;
        isReading = true;
        try {
          while (isStale && !stopped) {
            isStale = false;
            const record = await deps.read(commandId);
            if (!stopped) onRecord(record);
          }
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) {
            close();
            return;
          }
          deps.watch.tellAgain(commandId);
        } finally {
          isReading = false;
        }
      };

      const unwatch = deps.watch.watch(commandId, () => void refresh());
      const stop = () => {
        stopped = true;
        unwatch();
        open.delete(close);
      };
      const close = () => {
        if (stopped) return;
        stop();
        onClosed();
      };
      open.add(close);
      void refresh();
      return stop;
    },
    close() {
      for (const close of [...open]) close();
    },
  };
}
