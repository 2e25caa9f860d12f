import { abandonedFault, deadlineFault, type EngineOperation, engineFault } from "./engine-faults.js";

/** One call and its bound. */
export interface BoundedCall<T> {
  readonly operation: EngineOperation;
  readonly deadlineMs: number;
  /** Ends the call early; null when nothing may. */
  readonly signal: AbortSignal | null;
  /** Makes the call. Its signal aborts at the deadline; a callee that ignores it is left behind. */
  readonly call: (signal: AbortSignal) => Promise<T>;
  /** Gives back what a call that was left behind yields after all. */
  readonly dispose?: (late: T) => void;
}

/**
 * Settles by the deadline whatever the callee does. Not AbortSignal.timeout: it would still fire after a success and
 * destroy a hijacked connection with it.
 * @throws RuntimeFault
 */
export function callWithDeadline<T>({
  operation,
  deadlineMs,
  signal,
  call,
  dispose,
}: BoundedCall<T>): Promise<T> {
  if (signal?.aborted === true) return Promise.reject(abandonedFault(operation));
  return new Promise<T>((resolve, reject) => {
    const controller = new AbortController();
    let settled = false;
    const finish = (): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", abandon);
      return true;
    };
    const abandon = () => {
      if (!finish()) return;
      reject(abandonedFault(operation));
      controller.abort();
    };
    const timer = setTimeout(() => {
      if (!finish()) return;
      reject(deadlineFault(operation, deadlineMs));
      controller.abort();
    }, deadlineMs);
    signal?.addEventListener("abort", abandon, { once: true });
    let pending: Promise<T>;
    try {
      pending = call(controller.signal);
    } catch (error) {
      if (finish()) reject(engineFault(operation, error));
      return;
    }
    pending.then(
      (value) => {
        if (finish()) resolve(value);
        else dispose?.(value);
      },
      (error: unknown) => {
        if (finish()) reject(engineFault(operation, error));
      },
    );
  });
}
