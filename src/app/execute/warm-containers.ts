import { planWarm, type WarmRoom } from "../../domain/warm/plan-warm.js";
import { type DemandTrack, demandAt, withCommand } from "../../domain/warm/warm-demand.js";
import type { Clock } from "../../ports/clock.js";
import type { ContainerPurpose, ReadyContainer } from "../../ports/container-runtime.js";
import { RuntimeFault } from "../../ports/container-runtime.js";
import type { Metrics } from "../../ports/telemetry.js";
import type { ColdContainers } from "./cold-containers.js";
import type { ContainerLease } from "./execute-command.js";
import { fleetKindOf, kindOf } from "./warm-kind.js";

/** Bounds of one worker's warm containers; `containers` 0 is none at all. */
export interface WarmTerms extends WarmRoom {
  readonly maxAgeMs: number;
  /** A kind of container that no command asked for in so long gets none. */
  readonly idleMs: number;
}

/** A lease that has containers ready before they are asked for, and makes one where it has none. */
export interface WarmContainers extends ContainerLease {
  /** One that waits and can take the command, or null: nothing is made, and what is not taken counts as no demand. */
  acquireWaiting(purpose: ContainerPurpose): Promise<ReadyContainer | null>;
  /** Whether one of its kind waits or is being made for nobody yet. */
  holds(purpose: ContainerPurpose): boolean;
  /** Whether one waits that other workers call so. */
  hasWaiting(fleetKind: string): boolean;
  /** Removes what is dead, old or no longer wanted and makes what is missing. To be called now and then. */
  review(): void;
  /** How many wait for a command. */
  waiting(): number;
  /** Resolves when nothing is being made or removed any more. */
  settled(): Promise<void>;
}

/** Behind a lease: the command that just got its container has the engine's cores first. */
const REVIEW_DELAY_MS = 30;
/** For bailiff-init's answer at a lease. A live one takes a fraction of a millisecond on an idle core. */
const ANSWER_LIMIT_MS = 1_000;
/** Behind an end: the answer's way to its caller has the cores before the engine's work for the removal. */
const REMOVAL_DELAY_MS = 30;
/** Until a start has been seen. */
const FIRST_START_MS = 300;
const START_MIN_MS = 50;
const START_MAX_MS = 5_000;
/** An engine that takes so long for one container has enough to do for commands. */
const SLOW_START_MS = 1_000;
/** Then one is made beside commands' own after all: who never looks again never sees that the engine is quick again. */
const LOOK_AGAIN_MS = 10_000;
/** After a fault of the engine; doubles with each. */
const FAULT_PAUSE_MS = 500;
const FAULT_PAUSE_MAX_MS = 30_000;
/** Kinds whose demand is kept; those asked for longest ago go first. */
const KINDS_MAX = 1_024;

interface Kind {
  readonly purpose: ContainerPurpose;
  readonly track: DemandTrack;
  /** Came back, so far once, soon after a container had waited for it in vain: it comes too seldom to have one wait. */
  readonly isSeldom: boolean;
}

/** What a waiting container is for. */
interface Waiting {
  readonly kind: string;
  readonly fleetKind: string;
}

interface Start {
  readonly kind: string;
  readonly memoryBytes: number;
  /** Null where it failed. */
  readonly ready: Promise<ReadyContainer | null>;
  /** Whether a command waits for it. */
  adopted: boolean;
}

/**
 * Keeps containers that wait for a command of their tenant, workspace, directory, owner and profile, all limits included.
 * Each is leased once and then removed; what can't be leased any more is found out before dispatch and replaced by a cold
 * start. They are sized by demand, made only while no command needs the engine for itself, and bounded in number, memory
 * and age. A slow engine is asked for one at a time, with rests between. They end with `draining`.
 */
export function createWarmContainers(deps: {
  readonly cold: ColdContainers;
  readonly terms: WarmTerms;
  /** From a container's making to the deadline on its label: its greatest age and the longest command after that. */
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly later: (delayMs: number, work: () => void) => void;
  readonly draining: AbortSignal;
  /** Told of every container that begins to wait, by what other workers call its kind. */
  readonly onWaiting?: (fleetKind: string) => void;
  readonly metrics: Metrics;
}): WarmContainers {
  const { cold, terms, clock, draining, metrics } = deps;
  const kinds = new Map<string, Kind>();
  /** In the order in which they became ready. */
  const waiting = new Map<ReadyContainer, Waiting>();
  const starts = new Set<Start>();
  /** When a container of the kind waited in vain: until so much later, one command alone brings no other. */
  const unusedUntilMs = new Map<string, number>();
  /** Removed without having been leased. */
  const leaving = new Map<ReadyContainer, Promise<void>>();
  let startMs = FIRST_START_MS;
  let faults = 0;
  let pausedUntilMs = 0;
  let lookAgainAtMs = 0;
  let reviewDue = false;

  const gauges = () => {
    metrics.gauge("bailiff_warm_containers", waiting.size, { state: "waiting" });
    metrics.gauge("bailiff_warm_containers", starts.size, { state: "starting" });
    metrics.gauge("bailiff_warm_containers", leaving.size, { state: "leaving" });
    metrics.gauge("bailiff_warm_containers", cold.unremoved().containers, { state: "unremoved" });
  };

  const reviewSoon = () => {
    if (reviewDue || draining.aborted || terms.containers === 0) return;
    reviewDue = true;
    deps.later(REVIEW_DELAY_MS, () => {
      reviewDue = false;
      review();
    });
  };

  const letGo = (container: ReadyContainer) => {
    waiting.delete(container);
    const removal = cold.remove(container).then(() => {
      leaving.delete(container);
      gauges();
      reviewSoon();
    });
    leaving.set(container, removal);
  };

  const evict = (container: ReadyContainer, reason: "dead" | "age" | "idle" | "room" | "shutdown") => {
    metrics.count("bailiff_warm_evictions_total", { reason });
    letGo(container);
  };

  const keep = (container: ReadyContainer) => {
    const fleetKind = fleetKindOf(container.purpose);
    waiting.set(container, { kind: kindOf(container.purpose), fleetKind });
    if (draining.aborted) evict(container, "shutdown");
    else deps.onWaiting?.(fleetKind);
  };

  const waitingOf = (kind: string) => [...waiting].find(([, each]) => each.kind === kind)?.[0];
  /** One that is being made and that no command waits for yet. */
  const startOf = (kind: string) => [...starts].find((each) => each.kind === kind && !each.adopted);

  const present = (kind: string): number => {
    let count = 0;
    for (const each of waiting.values()) if (each.kind === kind) count += 1;
    for (const each of starts) if (each.kind === kind) count += 1;
    return count;
  };

  /** What may be used by warm containers: what could not be removed uses it too. */
  const room = (): WarmRoom => {
    const stuck = cold.unremoved();
    return {
      containers: Math.max(0, terms.containers - stuck.containers),
      memoryBytes: Math.max(0, terms.memoryBytes - stuck.memoryBytes),
    };
  };

  const fits = (memoryBytes: number): boolean => {
    let { containers, memoryBytes: left } = room();
    containers -= waiting.size + starts.size + leaving.size;
    for (const each of [...waiting.keys(), ...leaving.keys()])
      left -= each.purpose.profile.limits.memoryBytes;
    for (const each of starts) left -= each.memoryBytes;
    return containers >= 1 && left >= memoryBytes;
  };

  const failed = (kind: string, error: unknown) => {
    if (draining.aborted) return;
    metrics.count("bailiff_warm_refills_total", { result: "failed" });
    const code = error instanceof RuntimeFault ? error.code : "refused";
    // That is about this kind alone: its next command will tell.
    if (code === "image_missing" || code === "mount_refused") {
      kinds.delete(kind);
      return;
    }
    pausedUntilMs = clock.nowMs() + Math.min(FAULT_PAUSE_MAX_MS, FAULT_PAUSE_MS * 2 ** Math.min(faults, 10));
    faults += 1;
  };

  /** False where commands need the engine. */
  const refill = (kind: string, wanted: Kind): boolean => {
    const begunAtMs = clock.nowMs();
    const purpose = { ...wanted.purpose, commandId: null, deadlineMs: begunAtMs + deps.lifetimeMs };
    const made = cold.makeAhead(purpose, draining);
    if (made === null) return false;
    const start: Start = {
      kind,
      memoryBytes: purpose.profile.limits.memoryBytes,
      adopted: false,
      ready: made.then(
        (container) => {
          metrics.count("bailiff_warm_refills_total", { result: "ready" });
          faults = 0;
          const tookMs = Math.min(START_MAX_MS, Math.max(START_MIN_MS, clock.nowMs() - begunAtMs));
          startMs += (tookMs - startMs) / 4;
          // Of a slow engine's time, at most half is spent on what nobody asked for yet.
          if (startMs >= SLOW_START_MS) {
            pausedUntilMs = clock.nowMs() + tookMs;
            lookAgainAtMs = clock.nowMs() + LOOK_AGAIN_MS;
          }
          return container;
        },
        (error: unknown) => {
          failed(kind, error);
          return null;
        },
      ),
    };
    starts.add(start);
    void start.ready.then((container) => {
      starts.delete(start);
      if (container !== null && !start.adopted) keep(container);
      gauges();
      reviewSoon();
    });
    return true;
  };

  const review = () => {
    if (draining.aborted) return;
    const nowMs = clock.nowMs();
    for (const container of [...waiting.keys()]) {
      if (!container.isHealthy()) evict(container, "dead");
      else if (nowMs - container.createdAtMs > terms.maxAgeMs) evict(container, "age");
    }
    const demands = [...kinds].map(([kind, { purpose, track, isSeldom }]) => ({
      kind,
      isSeldom,
      memoryBytes: purpose.profile.limits.memoryBytes,
      ...demandAt(track, nowMs),
      present: present(kind),
    }));
    for (const { kind, idleForMs } of demands) if (idleForMs >= terms.idleMs) kinds.delete(kind);
    const plan = planWarm(
      demands.filter(({ isSeldom }) => !isSeldom),
      room(),
      terms.idleMs,
    );
    for (const [kind, untilMs] of unusedUntilMs) if (nowMs >= untilMs) unusedUntilMs.delete(kind);
    for (const [container, { kind }] of [...waiting]) {
      if (present(kind) <= (plan.get(kind) ?? 0)) continue;
      if (!kinds.has(kind)) unusedUntilMs.set(kind, nowMs + terms.idleMs);
      evict(container, kinds.has(kind) ? "room" : "idle");
    }
    for (const [kind, count] of plan) {
      const wanted = kinds.get(kind);
      if (wanted === undefined || nowMs < pausedUntilMs) continue;
      while (present(kind) < count && fits(wanted.purpose.profile.limits.memoryBytes)) {
        const isFirst = starts.size === 0 && (cold.askedFor() === 0 || nowMs >= lookAgainAtMs);
        if (startMs >= SLOW_START_MS && !isFirst) break;
        if (!refill(kind, wanted)) {
          gauges();
          return;
        }
      }
    }
    gauges();
  };

  const arrived = (kind: string, purpose: ContainerPurpose) => {
    if (terms.containers === 0) return;
    const nowMs = clock.nowMs();
    const known = kinds.get(kind);
    const track = withCommand(known?.track ?? null, nowMs, startMs);
    const isSeldom = known === undefined && nowMs < (unusedUntilMs.get(kind) ?? 0);
    kinds.delete(kind);
    for (const [other, { purpose: before }] of kinds) {
      // Another directory has the name now: nothing will ask for the old one again.
      if (
        before.tenant === purpose.tenant &&
        before.workspaceId === purpose.workspaceId &&
        before.workspaceIdentity !== purpose.workspaceIdentity
      ) {
        kinds.delete(other);
      }
    }
    kinds.set(kind, { purpose, track, isSeldom });
    for (const oldest of kinds.keys()) {
      if (kinds.size <= KINDS_MAX) break;
      kinds.delete(oldest);
    }
  };

  /** Why a container can't take the command, or null. */
  const unfit = (container: ReadyContainer, kind: string, purpose: ContainerPurpose) => {
    if (!container.isHealthy()) return "dead";
    if (clock.nowMs() - container.createdAtMs > terms.maxAgeMs) return "old";
    if (container.purpose.deadlineMs < purpose.deadlineMs) return "deadline";
    if (kindOf(container.purpose) !== kind) return "changed";
    return null;
  };

  const skip = (container: ReadyContainer, reason: string) => {
    metrics.count("bailiff_warm_skips_total", { reason });
    letGo(container);
  };

  const takeWaiting = async (kind: string, purpose: ContainerPurpose): Promise<ReadyContainer | null> => {
    for (;;) {
      const container = waitingOf(kind);
      if (container === undefined) return null;
      // Taken before it is asked: nobody else may have it meanwhile.
      waiting.delete(container);
      const reason =
        unfit(container, kind, purpose) ??
        ((await container.answers(ANSWER_LIMIT_MS)) ? null : container.isHealthy() ? "silent" : "dead");
      if (reason === null) {
        metrics.count("bailiff_warm_leases_total", { result: "warm" });
        return container;
      }
      skip(container, reason);
    }
  };

  /** One that is being made already is sooner there than one that is begun now. */
  const takeStarting = async (
    kind: string,
    purpose: ContainerPurpose,
    signal: AbortSignal,
  ): Promise<ReadyContainer | null> => {
    const start = startOf(kind);
    if (start === undefined || signal.aborted) return null;
    start.adopted = true;
    let abandon = () => {};
    const abandoned = new Promise<"abandoned">((resolve) => {
      abandon = () => resolve("abandoned");
      signal.addEventListener("abort", abandon, { once: true });
    });
    const container = await Promise.race([start.ready, abandoned]);
    signal.removeEventListener("abort", abandon);
    if (container === "abandoned") {
      void start.ready.then((late) => {
        if (late !== null) keep(late);
      });
      throw new RuntimeFault(
        "deadline",
        "create",
        "create: given up before the container was ready",
        signal.reason,
      );
    }
    if (container === null) return null;
    const reason = unfit(container, kind, purpose);
    if (reason === null) return container;
    skip(container, reason);
    return null;
  };

  /** Served their command and are about to be removed. */
  const served = new Set<ReadyContainer>();
  const removeServed = (container: ReadyContainer) => {
    if (served.delete(container)) cold.dispose(container);
  };

  draining.addEventListener("abort", () => {
    for (const container of served) removeServed(container);
    for (const container of [...waiting.keys()]) evict(container, "shutdown");
    gauges();
  });

  return {
    async acquire(purpose, signal) {
      const kind = kindOf(purpose);
      arrived(kind, purpose);
      try {
        const ready = await takeWaiting(kind, purpose);
        if (ready !== null) return ready;
        const begun = await takeStarting(kind, purpose, signal);
        if (begun !== null) {
          metrics.count("bailiff_warm_leases_total", { result: "starting" });
          return begun;
        }
        metrics.count("bailiff_warm_leases_total", { result: "cold" });
        return await cold.acquire(purpose, signal);
      } finally {
        gauges();
        reviewSoon();
      }
    },
    async acquireWaiting(purpose) {
      const kind = kindOf(purpose);
      try {
        const ready = await takeWaiting(kind, purpose);
        if (ready !== null) arrived(kind, purpose);
        return ready;
      } finally {
        gauges();
        reviewSoon();
      }
    },
    holds(purpose) {
      const kind = kindOf(purpose);
      return waitingOf(kind) !== undefined || startOf(kind) !== undefined;
    },
    hasWaiting: (fleetKind) => [...waiting.values()].some((each) => each.fleetKind === fleetKind),
    dispose(container) {
      served.add(container);
      if (draining.aborted) removeServed(container);
      else deps.later(REMOVAL_DELAY_MS, () => removeServed(container));
    },
    review,
    waiting: () => waiting.size,
    async settled() {
      for (const container of served) removeServed(container);
      await Promise.all([...starts].map((start) => start.ready));
      await Promise.all(leaving.values());
      await cold.settled();
    },
  };
}
