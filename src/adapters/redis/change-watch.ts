import { StoreUnavailable } from "../../ports/command-store.js";
import type { CommandEvents } from "./command-events.js";

/** What tells one stage of a command from another. */
export interface CommandSign {
  readonly state: string;
  readonly cancelRequested: boolean;
}

/** Called when a command has changed: its state as far as the news has it, null where there is no record (any more). */
type OnNews = (state: string | null) => void;

/** Watches commands; thousands of watches cost one subscription, one timer and one read per command and poll. */
export interface ChangeWatch {
  /** News of a command until the returned function is called. Subscribe first, then read: nothing is missed in between. */
  watch(commandId: string, onNews: OnNews): () => void;
  /** The next poll tells of this command whatever it finds: what was told could not be used. */
  tellAgain(commandId: string): void;
  close(): void;
}

interface Watched {
  readonly listeners: Set<OnNews>;
  /** What the last poll saw; undefined until one has. */
  seen: string | undefined;
}

/** How often the poll looks, for messages that never came. */
const POLL_MS = 2_000;

/** `readSigns` answers for each id its sign, or null where there is no record. */
export function createChangeWatch(deps: {
  readonly events: CommandEvents;
  readonly readSigns: (commandIds: readonly string[]) => Promise<readonly (CommandSign | null)[]>;
}): ChangeWatch {
  const watched = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const tell = (commandId: string, state: string | null) => {
    for (const listener of [...(watched.get(commandId)?.listeners ?? [])]) listener(state);
  };

  const look = async () => {
    const ids = [...watched.keys()];
    try {
      const signs = await deps.readSigns(ids);
      ids.forEach((id, index) => {
        const sign = signs[index] ?? null;
        const seen = sign === null ? "gone" : `${sign.state} ${sign.cancelRequested}`;
        const entry = watched.get(id);
        if (entry === undefined || entry.seen === seen) return;
        entry.seen = seen;
        tell(id, sign?.state ?? null);
      });
    } catch (error) {
      // Redis is away: the next look makes up for it.
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  };

  const schedule = () => {
    if (timer !== undefined || watched.size === 0 || closed) return;
    timer = setTimeout(
      () => {
        look()
          .catch(() => undefined)
          .finally(() => {
            timer = undefined;
            schedule();
          });
      },
      POLL_MS * (0.75 + Math.random() / 2),
    );
  };

  const stops = [
    deps.events.onChanged(tell),
    deps.events.onCancel((commandId) => tell(commandId, "dispatched")),
    deps.events.onResumed(() => {
      if (watched.size > 0) look().catch(() => undefined);
    }),
  ];

  return {
    watch(commandId, onNews) {
      const entry = watched.get(commandId) ?? { listeners: new Set(), seen: undefined };
      watched.set(commandId, entry);
      // A function of its own: the same listener may watch twice.
      const listener: OnNews = (state) => onNews(state);
      entry.listeners.add(listener);
      schedule();
      return () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0 && watched.get(commandId) === entry) watched.delete(commandId);
      };
    },
    tellAgain(commandId) {
      const entry = watched.get(commandId);
      if (entry !== undefined) entry.seen = undefined;
    },
    close() {
      closed = true;
      for (const stop of stops) stop();
      clearTimeout(timer);
    },
  };
}
