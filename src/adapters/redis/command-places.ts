import type { Redis } from "ioredis";
import type { CommandPlace, Keys } from "./keys.js";
import { orUnavailable } from "./store-failure.js";

/** Finds what a command's keys are made of, which its id alone does not say. */
export interface CommandPlaces {
  /** Null where there is no such command. */
  find(commandId: string): Promise<CommandPlace | null>;
  /** Keeps the place of a command whose record was read anyway. */
  remember(place: CommandPlace): void;
}

const REMEMBERED = 10_000;

/** Reads a place once and remembers it, as it never changes; a script on a record that is gone says so itself. */
export function createCommandPlaces(redis: Redis, keys: Keys): CommandPlaces {
  const remembered = new Map<string, CommandPlace>();
  const remember = (place: CommandPlace) => {
    if (remembered.size >= REMEMBERED) {
      const oldest = remembered.keys().next().value;
      if (oldest !== undefined) remembered.delete(oldest);
    }
    remembered.set(place.commandId, place);
  };
  return {
    remember,
    async find(commandId) {
      const known = remembered.get(commandId);
      if (known !== undefined) return known;
      const [tenant, sessionId, pool] = await orUnavailable(() =>
        redis.hmget(keys.command(commandId), "tenant", "sessionId", "pool"),
      );
      if (!tenant || !sessionId || !pool) return null;
      const place = { commandId, tenant, sessionId, pool };
      remember(place);
      return place;
    },
  };
}
