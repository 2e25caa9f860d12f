import { type Job, WaitingError } from "bullmq";
import type { HandlerAnswer, QueueConsumer } from "../../ports/command-queue.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { Envelope } from "./bullmq-command-queue.js";
import { createRedisClient, disconnect, type RedisEndpoint } from "./connection.js";
import { FetchTrackingWorker } from "./fetch-tracking-worker.js";
import { createKeys } from "./keys.js";

/** An idle worker asks this often; BullMQ's blocking fetch returns at least every five seconds. */
const SILENCE_LIMIT_MS = 20_000;
/** Before an entry goes back while the worker goes on: what refused it now would refuse it at once again. */
const GIVE_BACK_PAUSE_MS = 500;
const CLOSE_LIMIT_MS = 5_000;

/**
 * The receiving side on BullMQ. A stalled entry may be handed out again, as often as it takes: only the claim starts
 * a command, and it can't be had twice. What BullMQ thinks of a job is never the truth about its command.
 */
export function createBullmqQueueConsumer(deps: {
  readonly endpoint: RedisEndpoint;
  readonly deployment: string;
  readonly pool: string;
  readonly concurrency: number;
  /** Silence after which an entry is handed out again; default 30,000. */
  readonly lockMs?: number;
  readonly log: Log;
  readonly metrics: Metrics;
}): QueueConsumer {
  const { pool, lockMs = 30_000 } = deps;
  const keys = createKeys(deps.deployment);
  const log = deps.log.child({ pool });
  const connection = createRedisClient(deps.endpoint, deps.deployment, "fetcher", log);
  let worker: FetchTrackingWorker | null = null;
  let isDraining = false;
  let inHandlers = 0;
  const onIdle: (() => void)[] = [];
  let lastSignOfLifeMs = performance.now();

  const noteLife = () => {
    lastSignOfLifeMs = performance.now();
  };

  /** Puts an entry back, in front; where that fails the entry stalls and comes back by itself. */
  const giveBack = async (job: Job<Envelope, void>, token: string): Promise<never> => {
    try {
      await job.changePriority({ priority: 1 });
      await job.moveToWait(token);
      // BullMQ wakes nobody for an entry that was moved back; without this an idle worker would find it seconds later.
      await connection.zadd(keys.marker(pool), 0, "0");
      deps.metrics.count("bailiff_queue_entries_given_back_total");
    } catch (error) {
      log.warn(
        { command_id: job.id, err: error },
        "an entry could not be put back; it will be handed out again when its lock is over",
      );
    }
    throw new WaitingError();
  };

  const answerOf = async (handler: (commandId: string) => Promise<HandlerAnswer>, commandId: string) => {
    inHandlers += 1;
    try {
      return await handler(commandId);
    } catch (error) {
      if (error instanceof StoreUnavailable) return "give_back";
      // Left to its lock's end instead of put back at once: a handler that always fails must not spin.
      deps.metrics.count("bailiff_queue_handler_failures_total");
      log.error(
        { command_id: commandId, err: error },
        "the handling of an entry failed; it will be handed out again",
      );
      throw new WaitingError();
    } finally {
      inHandlers -= 1;
      noteLife();
      if (inHandlers === 0) for (const resume of onIdle.splice(0)) resume();
    }
  };

  return {
    async start(handler) {
      if (worker !== null) throw new Error("the consumer has been started before");
      const process = async (job: Job<Envelope, void>, token?: string): Promise<void> => {
        const commandId = job.id ?? job.data.commandId;
        const held = token ?? "";
        // An entry can still be handed over while the worker stops taking: the handler never sees it.
        if (isDraining) return giveBack(job, held);
        if ((await answerOf(handler, commandId)) === "done") return;
        if (!isDraining) await new Promise((resolve) => setTimeout(resolve, GIVE_BACK_PAUSE_MS));
        return giveBack(job, held);
      };
      worker = new FetchTrackingWorker(pool, process, {
        connection,
        prefix: keys.queuePrefix,
        concurrency: deps.concurrency,
        autorun: false,
        lockDuration: lockMs,
        stalledInterval: lockMs / 2,
        maxStalledCount: 5,
        drainDelay: 5,
        runRetryDelay: 1_000,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      });
      worker.onFetched = noteLife;
      worker.on("error", (error) => {
        deps.metrics.count("bailiff_queue_errors_total");
        log.debug({ err: error }, "the queue's worker met an error");
      });
      worker.on("stalled", (commandId) => {
        deps.metrics.count("bailiff_queue_entries_stalled_total");
        log.warn({ command_id: commandId }, "an entry stalled and is handed out again");
      });
      worker.on("failed", (job, error) => {
        deps.metrics.count("bailiff_queue_entries_failed_total");
        log.error(
          { command_id: job?.id, err: error },
          "the queue gave up an entry; the reconciler queues it again if it must",
        );
      });
      if (connection.status === "wait") connection.connect().catch(() => undefined);
      await worker.waitUntilReady();
      noteLife();
      worker.run().catch((error: unknown) => log.error({ err: error }, "the queue's worker ended"));
    },

    async drain() {
      isDraining = true;
      await worker?.pause(true);
      if (inHandlers === 0) return;
      await new Promise<void>((resolve) => onIdle.push(resolve));
    },

    async close() {
      isDraining = true;
      if (worker !== null) {
        // Without Redis BullMQ waits for it to say good-bye; an entry it holds comes back when its lock is over.
        await within(CLOSE_LIMIT_MS, worker.close());
        await within(1_000, worker.disconnect());
      }
      await disconnect(connection);
    },

    isFetching() {
      if (worker === null || isDraining || !worker.isRunning()) return false;
      return inHandlers >= deps.concurrency || performance.now() - lastSignOfLifeMs < SILENCE_LIMIT_MS;
    },
  };
}

async function within(limitMs: number, ending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([ending.catch(() => undefined), late]);
  clearTimeout(timer);
}
