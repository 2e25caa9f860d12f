import type { Redis } from "ioredis";
import { isId } from "../../domain/ids.js";
import type { OfferAnswer, WarmHomes, WarmOffer } from "../../ports/warm-homes.js";
import { hearChannels } from "./hear-channels.js";
import type { Keys } from "./keys.js";
import { orUnavailable } from "./store-failure.js";

const FLEET_KIND = /^[0-9a-f]{64}$/;

/** Homes as keys that expire, offers and answers as messages on a channel of each worker. */
export function createRedisWarmHomes(deps: {
  readonly redis: Redis;
  readonly subscriber: Redis;
  readonly keys: Keys;
}): WarmHomes {
  const { redis, subscriber, keys } = deps;
  return {
    async settle(fleetKind, workerId, forMs) {
      await orUnavailable(() => redis.set(keys.warmHome(fleetKind), workerId, "PX", forMs));
    },
    async homeOf(fleetKind) {
      const found = await orUnavailable(() => redis.get(keys.warmHome(fleetKind)));
      return found !== null && isId("wrk", found) ? found : null;
    },
    async forget(fleetKind) {
      await orUnavailable(() => redis.del(keys.warmHome(fleetKind)));
    },
    async offer(workerId, { commandId, fleetKind, from }) {
      const message = `offer ${commandId} ${from} ${fleetKind}`;
      return (await orUnavailable(() => redis.publish(keys.workerChannel(workerId), message))) > 0;
    },
    async answer(workerId, { commandId, from, isTaken }) {
      const message = `${isTaken ? "taken" : "declined"} ${commandId} ${from}`;
      await orUnavailable(() => redis.publish(keys.workerChannel(workerId), message));
    },
    listen(workerId, { offered, answered }) {
      // While it is not subscribed nobody hears of this worker, and so nobody waits for it.
      return hearChannels(subscriber, [keys.workerChannel(workerId)], (_channel, message) => {
        const heard = readMessage(message);
        if (heard === null) return;
        if ("fleetKind" in heard) offered(heard);
        else answered(heard);
      });
    },
  };
}

/** Null for what no worker of this version says. */
function readMessage(message: string): WarmOffer | OfferAnswer | null {
  const [verb, commandId = "", from = "", fleetKind = "", ...rest] = message.split(" ");
  if (!isId("cmd", commandId) || !isId("wrk", from) || rest.length > 0) return null;
  if (verb === "offer") return FLEET_KIND.test(fleetKind) ? { commandId, from, fleetKind } : null;
  if (fleetKind !== "" || (verb !== "taken" && verb !== "declined")) return null;
  return { commandId, from, isTaken: verb === "taken" };
}
