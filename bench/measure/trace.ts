import type { Foundation } from "../../src/main/foundation.js";
import type { ContainerRuntime, ReadyContainer } from "../../src/ports/container-runtime.js";

/** The steps of one command, as their begin and end on this process's clock. */
export type Step =
  | "session"
  | "decide"
  | "admit"
  | "enqueue"
  | "read"
  | "prepare"
  | "answer"
  | "claim"
  | "run"
  | "finish";

/** One command under the glass. Of a step that comes twice, the first time counts. */
export interface CommandTrace {
  beginOf(step: Step): number;
  endOf(step: Step): number;
  /** 0 for a step that did not come. */
  elapsed(step: Step): number;
  /** Milliseconds of the engine's calls, by operation. */
  readonly engineMs: ReadonlyMap<string, number>;
}

/** Follows one command at a time through a composition in this process. */
export interface Tracer {
  readonly foundation: Foundation;
  runtime(runtime: ContainerRuntime): ContainerRuntime;
  /** Forgets what was seen; the next command is followed. */
  reset(): void;
  current(): CommandTrace;
  /** Resolves when the containers of all commands so far are removed, and as many as are kept ready are ready. */
  settled(warm: number): Promise<void>;
}

const SETTLED_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 10;

/** Puts a stop-watch around the ports. It measures what a port's caller waits for, and changes nothing. */
export function createTracer(traced: Foundation): Tracer {
  let steps = new Map<Step, { begin: number; end: number }>();
  let engineMs = new Map<string, number>();
  const removals = new Set<Promise<void>>();
  const warmStates = new Map<string, number>();

  const around =
    <A extends readonly unknown[], T>(step: Step, work: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const begin = performance.now();
      try {
        return await work(...args);
      } finally {
        if (!steps.has(step)) steps.set(step, { begin, end: performance.now() });
      }
    };

  const { stores, metrics, decider } = traced;
  const { commands, queue, sessions } = stores;
  const foundation: Foundation = {
    ...traced,
    decider: { ...decider, decide: around("decide", decider.decide) },
    metrics: {
      ...metrics,
      gauge(name, value, labels) {
        metrics.gauge(name, value, labels);
        if (name === "bailiff_warm_containers") warmStates.set(labels?.["state"] ?? "", value);
      },
      observe(name, seconds, labels) {
        metrics.observe(name, seconds, labels);
        const operation = labels?.["operation"];
        if (name === "bailiff_engine_call_seconds" && operation !== undefined && !engineMs.has(operation))
          engineMs.set(operation, seconds * 1000);
      },
    },
    stores: {
      ...stores,
      sessions: { ...sessions, get: around("session", sessions.get) },
      queue: { ...queue, enqueue: around("enqueue", queue.enqueue) },
      commands: {
        ...commands,
        admit: around("admit", commands.admit),
        get: around("read", commands.get),
        claim: around("claim", commands.claim),
        finish: around("finish", commands.finish),
      },
    },
  };

  const watch = (container: ReadyContainer): ReadyContainer => ({
    ...container,
    answers: around("answer", container.answers),
    run: around("run", container.run),
    destroy() {
      const removal = container.destroy();
      removals.add(removal);
      const forget = () => removals.delete(removal);
      removal.then(forget, forget);
      return removal;
    },
  });

  return {
    foundation,
    runtime: (runtime) => {
      const prepare = around("prepare", runtime.prepare);
      return { ...runtime, prepare: async (purpose, signal) => watch(await prepare(purpose, signal)) };
    },
    reset() {
      steps = new Map();
      engineMs = new Map();
    },
    current() {
      const [seen, calls] = [steps, engineMs];
      const of = (step: Step) => {
        const found = seen.get(step);
        if (found === undefined) throw new Error(`the command never came to the step ${step}`);
        return found;
      };
      return {
        beginOf: (step) => of(step).begin,
        endOf: (step) => of(step).end,
        elapsed: (step) => (seen.has(step) ? of(step).end - of(step).begin : 0),
        engineMs: calls,
      };
    },
    async settled(warm) {
      const untilMs = performance.now() + SETTLED_LIMIT_MS;
      for (;;) {
        await Promise.allSettled(removals);
        const of = (state: string) => warmStates.get(state) ?? 0;
        if (removals.size === 0 && of("starting") === 0 && of("waiting") >= warm) return;
        if (performance.now() > untilMs) throw new Error("containers of ended commands are still there");
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    },
  };
}
