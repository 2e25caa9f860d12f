import type { Redis } from "ioredis";
import type { CommandPlace, Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import { redisNowMs } from "./redis-time.js";
import { orUnavailable } from "./store-failure.js";

const BATCH = 500;
const SEPARATOR = "|";

/** What lists an ended command, in one word; none of its parts can hold the separator. */
export function closedMember(place: CommandPlace): string {
  return [place.commandId, place.tenant, place.sessionId].join(SEPARATOR);
}

/**
 * Takes commands whose retention is over out of the listings; the records themselves expire by their TTL.
 * Idempotent, and safe in several processes at once. Answers how many it took out.
 */
export async function trimListings(redis: Redis, keys: Keys): Promise<number> {
  const nowMs = await redisNowMs(redis);
  let trimmed = 0;
  for (;;) {
    const due = await orUnavailable(() => redis.zrangebyscore(keys.closed, "-inf", nowMs, "LIMIT", 0, BATCH));
    if (due.length === 0) return trimmed;
    const pipeline = redis.pipeline();
    for (const member of due) {
      const [commandId = "", tenant = "", sessionId = ""] = member.split(SEPARATOR);
      pipeline.zrem(keys.tenantIndex(tenant), commandId);
      pipeline.zrem(keys.sessionIndex(sessionId), commandId);
      pipeline.zrem(keys.tenantApprovals(tenant), commandId);
    }
    pipeline.zrem(keys.closed, ...due);
    await runPipeline(pipeline);
    trimmed += due.length;
  }
}
