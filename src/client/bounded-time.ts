/** A signal that follows the caller's and a clock. */
export interface BoundedSignal {
  readonly signal: AbortSignal;
  /** Whether the clock, and not the caller, has ended it. */
  readonly isOver: () => boolean;
  /** The clock no longer counts; the caller still does. */
  stopClock(): void;
  /** Lets go of the caller's signal and of the clock. */
  release(): void;
  /** Ends it at once. */
  abort(): void;
}

/** Bounds work by the caller's signal and a time; `Infinity` is no time. */
export function boundedSignal(caller: AbortSignal | undefined, limitMs: number): BoundedSignal {
  // Not AbortSignal.any: a long-lived signal of the caller must not collect one listener for each call.
  const controller = new AbortController();
  let isOver = false;
  const follow = () => controller.abort(caller?.reason);
  if (caller?.aborted) follow();
  caller?.addEventListener("abort", follow, { once: true });
  const timer = Number.isFinite(limitMs)
    ? setTimeout(() => {
        isOver = true;
        controller.abort(new DOMException("the time is over", "TimeoutError"));
      }, limitMs)
    : undefined;
  const stopClock = () => clearTimeout(timer);
  return {
    signal: controller.signal,
    isOver: () => isOver,
    stopClock,
    release() {
      stopClock();
      caller?.removeEventListener("abort", follow);
    },
    abort: () => controller.abort(),
  };
}

/** Resolves after a time. Rejects with the signal's reason once it is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
