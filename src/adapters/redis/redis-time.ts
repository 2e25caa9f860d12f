import type { Redis } from "ioredis";
import { orUnavailable } from "./store-failure.js";

/** Redis's own clock, which every process of a deployment shares: milliseconds since the epoch. */
export async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await orUnavailable(() => redis.time());
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
