import type { Redis } from "ioredis";
import type { CancelFeed } from "../../ports/command-store.js";
import type { CommandEvents } from "./command-events.js";
import type { Keys } from "./keys.js";

const POLL_MS = 2_000;

/**
 * Cancels as they are asked for. A message that was missed is made up for by looking at the set of dispatched commands
 * with a cancel, so `onCancel` is called again and again until such a command has ended.
 */
export function createRedisCancelFeed(redis: Redis, keys: Keys, events: CommandEvents): CancelFeed {
  return {
    async subscribe(onCancel) {
      const look = async () => {
        const pending = await redis.smembers(keys.cancelling).catch(() => []);
        for (const commandId of pending) onCancel(commandId);
      };
      const stops = [events.onCancel(onCancel), events.onResumed(() => void look())];
      const timer = setInterval(() => void look(), POLL_MS * (0.75 + Math.random() / 2));
      await look();
      return async () => {
        clearInterval(timer);
        for (const stop of stops) stop();
      };
    },
  };
}
