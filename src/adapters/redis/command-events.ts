import type { Redis } from "ioredis";
import { hearChannels } from "./hear-channels.js";
import type { Keys } from "./keys.js";

/** One process's subscription: what changed, what is to be cancelled, and when messages may have been missed. */
export interface CommandEvents {
  onChanged(listener: (commandId: string, state: string) => void): () => void;
  /** A finished record that was sent to this process alone, as its hash's names and values in turn. */
  onEnd(listener: (fields: readonly string[]) => void): () => void;
  onCancel(listener: (commandId: string) => void): () => void;
  /** A change that a webhook is to be told of. */
  onOwed(listener: () => void): () => void;
  /** Called when the connection is (again) subscribed: what was published before is not coming. */
  onResumed(listener: () => void): () => void;
  close(): void;
}

/** Subscribes on a connection of its own, anew whenever that has reconnected. Ends are sent to the process by its token. */
export function createCommandEvents(subscriber: Redis, keys: Keys, processToken: string): CommandEvents {
  const endsChannel = keys.endsChannel(processToken);
  const changed = new Set<(commandId: string, state: string) => void>();
  const ends = new Set<(fields: readonly string[]) => void>();
  const cancels = new Set<(commandId: string) => void>();
  const owed = new Set<() => void>();
  const resumed = new Set<() => void>();

  const onMessage = (channel: string, message: string) => {
    if (channel === endsChannel) {
      for (const listener of ends) listener(JSON.parse(message));
      return;
    }
    if (channel === keys.cancelChannel) {
      for (const listener of cancels) listener(message);
      return;
    }
    const [commandId, state, debt] = message.split(" ");
    if (commandId === undefined || state === undefined) return;
    for (const listener of changed) listener(commandId, state);
    if (debt === "owed") for (const listener of owed) listener();
  };
  const close = hearChannels(
    subscriber,
    [keys.changedChannel, keys.cancelChannel, endsChannel],
    onMessage,
    () => {
      for (const listener of resumed) listener();
    },
  );

  const register = <T>(listeners: Set<T>, listener: T) => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  };
  return {
    onChanged: (listener) => register(changed, listener),
    onEnd: (listener) => register(ends, listener),
    onCancel: (listener) => register(cancels, listener),
    onOwed: (listener) => register(owed, listener),
    onResumed: (listener) => register(resumed, listener),
    close,
  };
}
