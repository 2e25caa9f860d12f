import type { CommandRecord } from "../../domain/command.js";
import type { ChangeWatch } from "./change-watch.js";

/** Waits for ends. */
export interface EndWaiters {
  wait(
    commandId: string,
    waitMs: number,
    signal: AbortSignal,
    known?: CommandRecord,
  ): Promise<CommandRecord | null>;
  /** Ends the waits for one command with its finished record, which need not be read then. */
  ended(record: CommandRecord): void;
  /** Ends every wait now, each with what its command is. */
  close(): void;
}

type Read = () => Promise<CommandRecord | null>;

interface Waited {
  readonly resumes: Set<(read: Read) => void>;
  readonly unwatch: () => void;
}

/**
 * Watch first, then read, then wait for news: an end between the steps is not missed. Nothing is read first of a command that
 * the caller knows to stand as `known`.
 */
export function createEndWaiters(deps: {
  readonly watch: ChangeWatch;
  readonly read: (commandId: string) => Promise<CommandRecord | null>;
}): EndWaiters {
  const waiters = new Map<string, Waited>();

  /** All waiters of one command share what they are told, or one read, begun after the news that wakes them. */
  const wake = (commandId: string, told?: CommandRecord) => {
    const woken = waiters.get(commandId);
    if (woken === undefined) return;
    waiters.delete(commandId);
    woken.unwatch();
    let begun = told === undefined ? undefined : Promise.resolve<CommandRecord | null>(told);
    const read = () => (begun ??= deps.read(commandId));
    for (const resume of woken.resumes) resume(read);
  };

  const join = (commandId: string, resume: (read: Read) => void): (() => void) => {
    const waited = waiters.get(commandId) ?? {
      resumes: new Set<(read: Read) => void>(),
      unwatch: deps.watch.watch(commandId, (state) => {
        if (state === null || state === "finished") wake(commandId);
      }),
    };
    waiters.set(commandId, waited);
    waited.resumes.add(resume);
    return () => {
      waited.resumes.delete(resume);
      if (waited.resumes.size > 0 || waiters.get(commandId) !== waited) return;
      waiters.delete(commandId);
      waited.unwatch();
    };
  };

  return {
    async wait(commandId, waitMs, signal, known) {
      const over = new AbortController();
      const awoken = new Promise<Read>((resolve) => {
        const leaveSet = join(commandId, resolve);
        const leave = () => {
          leaveSet();
          resolve(() => deps.read(commandId));
        };
        over.signal.addEventListener("abort", leave, { once: true });
        if (signal.aborted) leave();
        else signal.addEventListener("abort", leave, { once: true, signal: over.signal });
        const limit = setTimeout(leave, waitMs);
        over.signal.addEventListener("abort", () => clearTimeout(limit), { once: true });
      });
      try {
        const first = known ?? (await deps.read(commandId));
        if (first === null || first.state === "finished" || waitMs <= 0 || signal.aborted) return first;
        const read = await awoken;
        // Nobody hears the answer to a caller that has gone.
        return signal.aborted ? first : await read();
      } finally {
        over.abort();
      }
    },
    ended: (record) => wake(record.id, record),
    close() {
      for (const commandId of [...waiters.keys()]) wake(commandId);
    },
  };
}
