/** Lets so many through at once; of the others each tenant's in the order in which they came, the tenants in turn. */
export interface StartGate {
  /**
   * Resolves with the way out, to be taken exactly once. Rejects with the signal's reason when it is aborted first:
   * then nothing has been entered.
   */
  enter(tenant: string, signal: AbortSignal): Promise<() => void>;
  /** The way out, or null where nobody may enter at once: who comes this way waits for nobody and makes nobody wait in line. */
  tryEnter(): (() => void) | null;
}

/** Builds an open gate. */
export function createStartGate(atOnce: number): StartGate {
  let inside = 0;
  /** Who waits, by tenant: the one whose turn is next first. */
  const lines = new Map<string, Set<() => void>>();

  const leave = () => {
    inside -= 1;
    const [next] = lines;
    if (next === undefined) return;
    const [tenant, line] = next;
    const [pass] = line;
    // Behind the others, where more of it wait.
    lines.delete(tenant);
    lines.set(tenant, line);
    pass?.();
  };

  return {
    enter(tenant, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const line = lines.get(tenant) ?? new Set();
        const leaveLine = () => {
          line.delete(pass);
          if (line.size === 0 && lines.get(tenant) === line) lines.delete(tenant);
          signal.removeEventListener("abort", giveUp);
        };
        const pass = () => {
          leaveLine();
          inside += 1;
          resolve(leave);
        };
        const giveUp = () => {
          leaveLine();
          reject(signal.reason);
        };
        if (inside < atOnce) {
          pass();
          return;
        }
        line.add(pass);
        lines.set(tenant, line);
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
