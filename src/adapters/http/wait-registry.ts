import type { FastifyReply } from "fastify";

/** The requests that wait for something, so that a client that left and a shutdown both end the wait. */
export interface WaitRegistry {
  /** Runs work under a signal that is aborted when the client goes away or the service closes. */
  during<T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** A signal for as long as the answer takes: aborted when it is over, the client goes away or the service closes. */
  signalFor(reply: FastifyReply): AbortSignal;
  /** Ends every wait, also those to come. */
  end(): void;
  readonly ended: boolean;
}

/** Builds an empty registry. */
export function createWaitRegistry(): WaitRegistry {
  const open = new Set<AbortController>();
  let ended = false;
  return {
    get ended() {
      return ended;
    },
    signalFor(reply) {
      const controller = new AbortController();
      if (ended || reply.raw.destroyed) controller.abort();
      open.add(controller);
      reply.raw.once("close", () => {
        open.delete(controller);
        controller.abort();
      });
      return controller.signal;
    },
    async during(reply, work) {
      const controller = new AbortController();
      if (ended) controller.abort();
      const onClose = () => controller.abort();
      open.add(controller);
      reply.raw.once("close", onClose);
      try {
        return await work(controller.signal);
      } finally {
        reply.raw.off("close", onClose);
        open.delete(controller);
      }
    },
    end() {
      ended = true;
      for (const controller of open) controller.abort();
    },
  };
}
