/** Lets so many through at once, the others in the order in which they came. */
export interface StartGate {
  /**
   * Resolves with the way out, to be taken exactly once. Rejects with the signal's reason when it is aborted first:
   * then nothing has been entered.
   */
  enter(signal: AbortSignal): Promise<() => void>;
  /** The way out, or null where nobody may enter at once: who comes this way waits for nobody and makes nobody wait in line. */
  tryEnter(): (() => void) | null;
}

/** Builds an open gate. */
export function createStartGate(atOnce: number): StartGate {
  let inside = 0;
  const waiting = new Set<() => void>();

  const leave = () => {
    inside -= 1;
    const [next] = waiting;
    next?.();
  };

  return {
    enter(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const pass = () => {
          waiting.delete(pass);
          signal.removeEventListener("abort", giveUp);
          inside += 1;
          resolve(leave);
        };
        const giveUp = () => {
          waiting.delete(pass);
          reject(signal.reason);
        };
        if (inside < atOnce) {
          pass();
          return;
        }
        waiting.add(pass);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
    tryEnter() {
      if (inside >= atOnce) return null;
      inside += 1;
      return leave;
    },
  };
}
