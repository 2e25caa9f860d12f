import { createHash } from "node:crypto";
import type { BaseAdapter } from "@bull-board/api/baseAdapter";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Keys } from "./keys.js";

/** What bull-board shows, and who may look for a while. */
export interface RedisQueueBoard {
  /** A pool's queue, to be looked at and not to be touched. */
  queueOf(pool: string): BaseAdapter;
  /** Lets whoever has this token look for so long. Only its hash is kept. */
  admit(token: string, forMs: number): Promise<void>;
  isAdmitted(token: string): Promise<boolean>;
}

/** The queues as bull-board wants them. Tokens are in Redis: any API process of the deployment may be asked. */
export function createRedisQueueBoard(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queueOf: (pool: string) => Queue;
}): RedisQueueBoard {
  const { redis, keys } = deps;
  const keyOf = (token: string) => keys.boardVisit(createHash("sha256").update(token).digest("hex"));
  return {
    queueOf: (pool) => new BullMQAdapter(deps.queueOf(pool), { readOnlyMode: true, allowRetries: false }),
    async admit(token, forMs) {
      await redis.set(keyOf(token), "1", "PX", forMs);
    },
    isAdmitted: async (token) => (await redis.exists(keyOf(token))) === 1,
  };
}
