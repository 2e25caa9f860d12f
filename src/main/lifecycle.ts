import type { Log } from "../ports/telemetry.js";

/** Things to close, in the reverse order of their opening. */
export interface Closers {
  add(name: string, close: () => Promise<unknown> | unknown): void;
  /** Adds what is to be closed behind everything else. */
  addLast(name: string, close: () => Promise<unknown> | unknown): void;
  /** Closes everything; one that fails does not keep the others open. */
  closeAll(): Promise<void>;
}

/** Builds an empty list of closers. */
export function createClosers(log: Log): Closers {
  const entries: { name: string; close: () => Promise<unknown> | unknown }[] = [];
  return {
    add(name, close) {
      entries.push({ name, close });
    },
    addLast(name, close) {
      entries.unshift({ name, close });
    },
    async closeAll() {
      for (const { name, close } of entries.splice(0).reverse()) {
        try {
          await close();
        } catch (error) {
          log.warn({ part: name, err: error }, "a part did not close cleanly");
        }
      }
    },
  };
}

/** A process's parts, started: how to stop taking work and how to end. */
export interface RunningProcess {
  /** Takes no more work, finishes or ends what runs, records, closes. Resolves in bounded time. */
  stop(reason: string): Promise<void>;
}

/**
 * Waits for SIGTERM or SIGINT and stops the process; a second signal, or a stop that takes longer than `limitMs`,
 * ends it at once with status 1.
 */
export async function runUntilSignal(running: RunningProcess, log: Log, limitMs: number): Promise<number> {
  const signal = await new Promise<string>((resolve) => {
    process.once("SIGTERM", () => resolve("SIGTERM"));
    process.once("SIGINT", () => resolve("SIGINT"));
  });
  log.info({ signal }, "stopping");
  const giveUp = (): never => process.exit(1);
  process.once("SIGTERM", giveUp);
  process.once("SIGINT", giveUp);
  setTimeout(() => {
    log.error({ limit_ms: limitMs }, "the stop took too long");
    giveUp();
  }, limitMs).unref();
  await running.stop(signal);
  log.info({}, "stopped");
  return 0;
}
