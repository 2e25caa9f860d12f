import type { HandlerAnswer } from "../../ports/command-queue.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { WarmHomes, WarmOffer } from "../../ports/warm-homes.js";
import type { OfferedTerms } from "./execute-command.js";
import type { WarmContainers } from "./warm-containers.js";

/** Runs what other workers offer, as far as there is room. */
export interface TakeOffers {
  /** Answers an offer: it is taken once its command is dispatched here. */
  offered(offer: WarmOffer): void;
  /** The way of a queue's entry through this worker, counted: what it holds leaves less room for offers. */
  fromQueue(commandId: string): Promise<HandlerAnswer>;
  /** Resolves when no offered command is here any more; to be asked once draining has begun. */
  settled(): Promise<void>;
}

/**
 * An offered command goes the same way as one from the queue, but only into a container that waits already, and only while
 * this worker holds fewer commands than it may run at once. What is declined stays with the worker that offered it.
 */
export function createTakeOffers(deps: {
  readonly homes: WarmHomes;
  readonly containers: Pick<WarmContainers, "acquireWaiting" | "hasWaiting">;
  readonly execute: (commandId: string, offered?: OfferedTerms) => Promise<HandlerAnswer>;
  readonly workerId: string;
  readonly concurrency: number;
  readonly draining: AbortSignal;
  readonly log: Log;
  readonly metrics: Metrics;
}): TakeOffers {
  const { homes, containers, metrics } = deps;
  const taking = new Map<string, Promise<void>>();
  let held = 0;

  const counted = async (work: () => Promise<HandlerAnswer>): Promise<HandlerAnswer> => {
    held += 1;
    try {
      return await work();
    } finally {
      held -= 1;
    }
  };

  const take = async ({ commandId, from }: WarmOffer): Promise<void> => {
    let isTaken = false;
    const terms: OfferedTerms = {
      acquire: containers.acquireWaiting,
      dispatched: () => {
        isTaken = true;
        answer(from, commandId, true);
      },
    };
    // Where it fails before the dispatch, the command is its offerer's as before; after it, it is the reconciler's.
    await counted(() => deps.execute(commandId, terms)).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) return;
      metrics.count("bailiff_queue_handler_failures_total");
      deps.log.error({ command_id: commandId, err: error }, "the handling of an offered command failed");
    });
    if (!isTaken) answer(from, commandId, false);
  };

  const answer = (to: string, commandId: string, isTaken: boolean) => {
    homes
      .answer(to, { commandId, from: deps.workerId, isTaken })
      .catch(() => metrics.count("bailiff_warm_home_failures_total"));
  };

  return {
    offered(offer) {
      const { commandId, fleetKind, from } = offer;
      // A message that came twice: the first one is answered.
      if (taking.has(commandId)) return;
      if (deps.draining.aborted || held >= deps.concurrency || !containers.hasWaiting(fleetKind)) {
        answer(from, commandId, false);
        return;
      }
      taking.set(
        commandId,
        take(offer).finally(() => taking.delete(commandId)),
      );
    },
    fromQueue: (commandId) => counted(() => deps.execute(commandId)),
    async settled() {
      await Promise.all(taking.values());
    },
  };
}
