import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { CommandQueue } from "../../ports/command-queue.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log } from "../../ports/telemetry.js";
import type { Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import { orUnavailableWithin } from "./store-failure.js";

/** What a queue entry holds: the command's id, which is the job's id too. */
export interface Envelope {
  readonly commandId: string;
}

/** The queue's sending side, and how it ends. */
export interface BullmqCommandQueue extends CommandQueue {
  /** The queue of a pool, for what only looks at it. */
  queueOf(pool: string): Queue<Envelope>;
  close(): Promise<void>;
}

/** BullMQ's event stream has no readers here; it is kept short. */
const EVENTS_KEPT = 100;
const LIMIT_MS = 3_000;

/**
 * One BullMQ queue per pool, on the connection of the store.
 * An envelope exists exactly as long as its entry waits or is held: that is how the reconciler sees that one is missing.
 */
export function createBullmqCommandQueue(redis: Redis, keys: Keys, log: Log): BullmqCommandQueue {
  const queues = new Map<string, Queue<Envelope>>();

  const queueOf = (pool: string): Queue<Envelope> => {
    const known = queues.get(pool);
    if (known !== undefined) return known;
    const queue = new Queue<Envelope>(pool, {
      connection: redis,
      prefix: keys.queuePrefix,
      streams: { events: { maxLen: EVENTS_KEPT } },
    });
    queue.on("error", (error) => log.debug({ pool, err: error }, "the queue's connection failed"));
    queues.set(pool, queue);
    return queue;
  };

  /** BullMQ waits for a connection that is away; a caller is better told so. */
  const use = <T>(work: () => Promise<T>): Promise<T> => {
    if (redis.status !== "ready")
      return Promise.reject(new StoreUnavailable("Redis is not reachable or not ready"));
    return orUnavailableWithin(LIMIT_MS, work);
  };

  return {
    queueOf,
    async enqueue(pool, { commandId, priority }) {
      await use(() =>
        queueOf(pool).add(
          "command",
          { commandId },
          { jobId: commandId, priority, attempts: 1, removeOnComplete: true, removeOnFail: true },
        ),
      );
    },

    async withdraw(pool, commandId) {
      return use(async () => {
        if ((await redis.exists(keys.envelope(pool, commandId))) === 0) return false;
        return (await queueOf(pool).remove(commandId)) === 1;
      });
    },

    async depth(pool) {
      return use(async () => {
        const counts = await queueOf(pool).getJobCounts("wait", "prioritized", "active");
        return {
          waiting: (counts["wait"] ?? 0) + (counts["prioritized"] ?? 0),
          active: counts["active"] ?? 0,
        };
      });
    },

    async depths(pools) {
      const pipeline = redis.pipeline();
      for (const pool of pools) {
        const { wait, prioritized, active, delayed } = keys.queue(pool);
        pipeline.llen(wait).zcard(prioritized).llen(active).zcard(delayed);
      }
      const counts = (await use(() => runPipeline(pipeline))) as number[];
      return pools.map((pool, i) => {
        const [waiting = 0, prioritized = 0, active = 0, delayed = 0] = counts.slice(4 * i, 4 * i + 4);
        return { pool, waiting, prioritized, active, delayed };
      });
    },

    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => undefined)));
      queues.clear();
    },
  };
}
