import type { CommandRecord } from "../../domain/command.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { CommandEvents } from "./command-events.js";

/** Waits for ends; thousands of waits cost one subscription, one timer and one read per command and poll. */
export interface EndWaiters {
  wait(commandId: string, waitMs: number, signal: AbortSignal): Promise<CommandRecord | null>;
  /** Ends every wait now, each with what its command is. */
  close(): void;
}

type Read = () => Promise<CommandRecord | null>;

/** How often the poll looks, for messages that never came. */
const POLL_MS = 2_000;

/**
 * Subscribe first, then read, then wait for a message or the poll: an end between the steps is not missed.
 * `readStates` answers for each id its state, or null where there is no record (any more).
 */
export function createEndWaiters(deps: {
  readonly events: CommandEvents;
  readonly read: (commandId: string) => Promise<CommandRecord | null>;
  readonly readStates: (commandIds: readonly string[]) => Promise<readonly (string | null)[]>;
}): EndWaiters {
  const waiters = new Map<string, Set<(read: Read) => void>>();
  let timer: NodeJS.Timeout | undefined;

  /** All waiters of one command share one read, begun after the message that wakes them. */
  const wake = (commandId: string) => {
    const woken = waiters.get(commandId);
    waiters.delete(commandId);
    let begun: Promise<CommandRecord | null> | undefined;
    const read = () => (begun ??= deps.read(commandId));
    for (const resume of woken ?? []) resume(read);
  };

  const look = async () => {
    const ids = [...waiters.keys()];
    try {
      const states = await deps.readStates(ids);
      ids.forEach((id, index) => {
        const state = states[index];
        if (state === null || state === "finished") wake(id);
      });
    } catch (error) {
      // Redis is away: the waits go on until their own time is over.
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  };

  const schedule = () => {
    if (timer !== undefined || waiters.size === 0) return;
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
    deps.events.onChanged((commandId, state) => {
      if (state === "finished") wake(commandId);
    }),
    deps.events.onResumed(() => {
      if (waiters.size > 0) look().catch(() => undefined);
    }),
  ];

  return {
    async wait(commandId, waitMs, signal) {
      const over = new AbortController();
      const awoken = new Promise<Read>((resolve) => {
        const set = waiters.get(commandId) ?? new Set();
        waiters.set(commandId, set);
        set.add(resolve);
        const leave = () => {
          set.delete(resolve);
          if (set.size === 0 && waiters.get(commandId) === set) waiters.delete(commandId);
          resolve(() => deps.read(commandId));
        };
        over.signal.addEventListener("abort", leave, { once: true });
        if (signal.aborted) leave();
        else signal.addEventListener("abort", leave, { once: true, signal: over.signal });
        const limit = setTimeout(leave, waitMs);
        over.signal.addEventListener("abort", () => clearTimeout(limit), { once: true });
      });
      try {
        const first = await deps.read(commandId);
        if (first === null || first.state === "finished" || waitMs <= 0 || signal.aborted) return first;
        schedule();
        const read = await awoken;
        // Nobody hears the answer to a caller that has gone.
        return signal.aborted ? first : await read();
      } finally {
        over.abort();
      }
    },
    close() {
      for (const stop of stops) stop();
      clearTimeout(timer);
      for (const commandId of [...waiters.keys()]) wake(commandId);
    },
  };
}
