import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createColdContainers } from "../../../src/app/execute/cold-containers.js";
import { createWarmContainers } from "../../../src/app/execute/warm-containers.js";
import { fleetKindOf } from "../../../src/app/execute/warm-kind.js";
import { DEFAULT_CONTAINER_LIMITS } from "../../../src/domain/limits.js";
import type {
  ContainerPurpose,
  ContainerRuntime,
  ReadyContainer,
} from "../../../src/ports/container-runtime.js";
import { RuntimeFault } from "../../../src/ports/container-runtime.js";
import { aPurpose } from "../../support/container-purpose.js";
import { silentLog, silentMetrics } from "../../support/silent-telemetry.js";

const TERMS = {
  containers: 3,
  memoryBytes: 4 * DEFAULT_CONTAINER_LIMITS.memoryBytes,
  maxAgeMs: 60_000,
  idleMs: 20_000,
};
const LIFETIME_MS = 200_000;
const STARTS_AT_ONCE = 4;

/** The purposes a worker meets: each differs from the first in one thing that two commands must not share. */
const base = aPurpose({
  tenant: "acme",
  workspaceId: "app",
  workspacePath: "/w/acme/app",
  commandId: "cmd_1",
  deadlineMs: 0,
});
const withLimits = (limits: Partial<typeof DEFAULT_CONTAINER_LIMITS>): ContainerPurpose => ({
  ...base,
  profile: { ...base.profile, limits: { ...DEFAULT_CONTAINER_LIMITS, ...limits } },
});
const withProfile = (profile: Partial<ContainerPurpose["profile"]>): ContainerPurpose => ({
  ...base,
  profile: { ...base.profile, ...profile },
});
const PURPOSES: readonly ContainerPurpose[] = [
  base,
  { ...base, tenant: "rival" },
  { ...base, workspaceId: "other" },
  { ...base, workspacePath: "/w/acme/other" },
  { ...base, workspaceIdentity: "1:2:0" },
  { ...base, uid: 2 },
  { ...base, gid: 2 },
  withProfile({ name: "q" }),
  withProfile({ image: "sha256:b" }),
  withProfile({ imageDigest: "sha256:b" }),
  withProfile({ network: "inside" }),
  withProfile({ ociRuntime: "runsc" }),
  withProfile({ execInTmp: true }),
  ...Object.keys(DEFAULT_CONTAINER_LIMITS).map((name) => withLimits({ [name]: 1_000_000 })),
];

type Fate = "waits" | "leased" | "destroyed";
interface Simulated {
  readonly container: ReadyContainer;
  alive: boolean;
  frozen: boolean;
  fate: Fate;
  stuck: boolean;
  times: number;
}

const settle = async () => {
  for (let turns = 0; turns < 5; turns += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A worker's containers over an engine without containers, whose time passes as the test says. */
function createWorld() {
  let nowMs = 1_000_000;
  let made = 0;
  const containers = new Map<string, Simulated>();
  const pending: {
    readonly purpose: ContainerPurpose;
    readonly end: (fault: RuntimeFault | null) => void;
  }[] = [];
  const timers: { atMs: number; work: () => void }[] = [];
  const counts = new Map<string, number>();
  const draining = new AbortController();
  const told: string[] = [];

  const runtime = {
    settled: async () => undefined,
    prepare: (purpose: ContainerPurpose, signal: AbortSignal) =>
      new Promise<ReadyContainer>((resolve, reject) => {
        made += 1;
        const containerId = `c${made}`;
        const entry = {
          purpose,
          end: (fault: RuntimeFault | null) => {
            pending.splice(pending.indexOf(entry), 1);
            signal.removeEventListener("abort", abandon);
            if (fault !== null) return reject(fault);
            const simulated: Simulated = {
              alive: true,
              frozen: false,
              fate: "waits",
              stuck: false,
              times: 0,
              container: {
                containerId,
                purpose,
                createdAtMs: nowMs,
                isHealthy: () => simulated.alive,
                answers: async () => simulated.alive && !simulated.frozen,
                run: () => Promise.reject(new Error("not here")),
                async destroy() {
                  if (simulated.stuck) throw new RuntimeFault("deadline", "remove", "remove: no answer");
                  simulated.fate = "destroyed";
                },
              },
            };
            containers.set(containerId, simulated);
            resolve(simulated.container);
          },
        };
        const abandon = () => entry.end(new RuntimeFault("deadline", "create", "create: abandoned"));
        pending.push(entry);
        signal.addEventListener("abort", abandon);
      }),
  } as unknown as ContainerRuntime;
  const metrics = {
    ...silentMetrics,
    count: (name: string, labels: Readonly<Record<string, string>> = {}) => {
      const key = [name, ...Object.values(labels)].join(" ");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
  };
  const cold = createColdContainers({ runtime, startsAtOnce: STARTS_AT_ONCE, log: silentLog, metrics });
  const warm = createWarmContainers({
    cold,
    terms: TERMS,
    lifetimeMs: LIFETIME_MS,
    clock: { nowMs: () => nowMs },
    later: (delayMs, work) => void timers.push({ atMs: nowMs + delayMs, work }),
    draining: draining.signal,
    onWaiting: (fleetKind) => void told.push(fleetKind),
    metrics,
  });

  const world = {
    warm,
    cold,
    draining,
    told,
    containers,
    pending,
    counted: (key: string) => counts.get(key) ?? 0,
    nowMs: () => nowMs,
    waiting: () => [...containers.values()].filter(({ fate }) => fate === "waits"),
    ahead: () => pending.filter(({ purpose }) => purpose.commandId === null),
    async pass(ms: number) {
      nowMs += ms;
      for (const timer of timers.splice(0)) {
        if (timer.atMs <= nowMs) timer.work();
        else timers.push(timer);
      }
      await settle();
    },
    async endAll(fault: RuntimeFault | null = null) {
      for (const each of [...pending]) each.end(fault);
      await settle();
    },
    /** A command's lease, checked; the container is disposed of by the test. */
    async acquire(purpose: ContainerPurpose, signal = new AbortController().signal, neededMs = 100_000) {
      const wanted = { ...purpose, commandId: "cmd_x", deadlineMs: nowMs + neededMs };
      const container = await warm.acquire(wanted, signal);
      const simulated = containers.get(container.containerId);
      if (simulated === undefined) throw new Error("a container nobody made");
      expect(simulated.fate).toBe("waits");
      simulated.fate = "leased";
      simulated.times += 1;
      expect(simulated.times).toBe(1);
      const { commandId, deadlineMs, ...got } = container.purpose;
      const { commandId: _, deadlineMs: needed, ...asked } = wanted;
      expect(got).toEqual(asked);
      expect([null, "cmd_x"]).toContain(commandId);
      expect(deadlineMs).toBeGreaterThanOrEqual(needed);
      return simulated;
    },
    /** Begins a lease and lets everything be made that is being made. */
    async lease(purpose: ContainerPurpose, neededMs?: number) {
      const leased = world.acquire(purpose, undefined, neededMs);
      leased.catch(() => undefined);
      await settle();
      if (pending.some((each) => each.purpose.commandId !== null)) await world.endAll();
      return leased;
    },
    /** Lets time pass until what is wanted is made. */
    async refilled() {
      await world.pass(50);
      await world.endAll();
      await world.pass(50);
    },
  };
  return world;
}

describe("warm containers", () => {
  it("are made behind the first command and given to the second, each once", async () => {
    const world = createWorld();
    const first = await world.lease(base);
    await world.refilled();
    expect(world.warm.waiting()).toBe(1);
    await world.pass(1_000);
    const second = await world.acquire(base);
    expect(second).not.toBe(first);
    expect(world.counted("bailiff_warm_leases_total cold")).toBe(1);
    expect(world.counted("bailiff_warm_leases_total warm")).toBe(1);
    await world.refilled();
    expect(world.warm.waiting()).toBe(1);
  });

  it.each(PURPOSES.slice(1).map((purpose, i) => [i, purpose] as const))(
    "are not given to a command that differs in one thing (%i)",
    async (_, purpose) => {
      const world = createWorld();
      await world.lease(base);
      await world.refilled();
      await world.lease(purpose);
      expect(world.counted("bailiff_warm_leases_total cold")).toBe(2);
    },
  );

  it("are told of as they begin to wait, and given to an offered command, which counts as demand where it gets one", async () => {
    const world = createWorld();
    const wanted = { ...base, commandId: "cmd_2", deadlineMs: world.nowMs() };
    expect([world.warm.holds(base), await world.warm.acquireWaiting(wanted)]).toEqual([false, null]);
    await world.refilled();
    expect(world.ahead()).toEqual([]);

    await world.lease(base);
    expect(world.warm.holds(base)).toBe(false);
    await world.pass(50);
    expect(world.ahead()).toHaveLength(1);
    expect([world.warm.holds(base), world.told]).toEqual([true, []]);
    await world.endAll();
    expect(world.told).toEqual([fleetKindOf(base)]);
    await world.pass(1_000);
    expect(world.warm.hasWaiting(fleetKindOf(base))).toBe(true);
    expect(await world.warm.acquireWaiting({ ...wanted, uid: 2 })).toBeNull();
    expect((await world.warm.acquireWaiting(wanted))?.purpose.commandId).toBeNull();
    expect(world.warm.hasWaiting(fleetKindOf(base))).toBe(false);
    await world.refilled();
    expect(world.told).toHaveLength(2);
  });

  it("have one name in the whole fleet, wherever a host has the workspace, and another for what differs otherwise", () => {
    const names = PURPOSES.map(fleetKindOf);
    const elsewhere = fleetKindOf({ ...base, workspacePath: "/mnt/app", workspaceIdentity: "7:7:7" });
    expect(elsewhere).toBe(names[0]);
    const sameName = PURPOSES.filter((_, i) => names[i] === elsewhere);
    expect(sameName).toEqual([base, PURPOSES[3], PURPOSES[4]]);
    expect(new Set(names).size).toBe(PURPOSES.length - 2);
  });

  it.each([
    ["dead", { alive: false }],
    ["silent", { frozen: true }],
  ])("that are %s are skipped, and the command gets another", async (reason, harm) => {
    const world = createWorld();
    await world.lease(base);
    await world.refilled();
    const [harmed] = world.waiting();
    if (harmed === undefined) throw new Error("none waits");
    Object.assign(harmed, harm);
    const got = await world.lease(base);
    expect(got).not.toBe(harmed);
    expect(harmed.fate).toBe("destroyed");
    expect(world.counted(`bailiff_warm_skips_total ${reason}`)).toBe(1);
  });

  it("that are too old are skipped", async () => {
    const world = createWorld();
    await world.lease(base);
    await world.refilled();
    const [old] = world.waiting();
    // No review comes meanwhile.
    await world.pass(TERMS.maxAgeMs + 1);
    await world.lease(base);
    expect(old?.fate).toBe("destroyed");
    expect(world.counted("bailiff_warm_skips_total old")).toBe(1);
  });

  it("whose deadline comes before the command's are skipped", async () => {
    const world = createWorld();
    await world.lease(base);
    await world.refilled();
    const [short] = world.waiting();
    await world.lease(base, LIFETIME_MS);
    expect(short?.fate).toBe("destroyed");
    expect(world.counted("bailiff_warm_skips_total deadline")).toBe(1);
  });

  it("of a directory that was replaced go as soon as the new one is asked for", async () => {
    const world = createWorld();
    await world.lease(base);
    await world.refilled();
    const [old] = world.waiting();
    await world.lease({ ...base, workspaceIdentity: "1:9:9" });
    await world.refilled();
    expect(old?.fate).toBe("destroyed");
    expect(world.waiting().map(({ container }) => container.purpose.workspaceIdentity)).toEqual(["1:9:9"]);
  });

  it("that are being started are given to the next command rather than a new one begun", async () => {
    const world = createWorld();
    await world.lease(base);
    await world.pass(50);
    expect(world.ahead()).toHaveLength(1);
    const leased = world.acquire(base);
    await settle();
    expect(world.pending).toHaveLength(1);
    await world.endAll();
    expect((await leased).container.purpose.commandId).toBeNull();
    expect(world.counted("bailiff_warm_leases_total starting")).toBe(1);
  });

  it("whose start fails under a command that waits for it are replaced by a cold one", async () => {
    const world = createWorld();
    await world.lease(base);
    await world.pass(50);
    const leased = world.acquire(base);
    await settle();
    await world.endAll(new RuntimeFault("unreachable", "create", "create: gone"));
    await world.endAll();
    expect((await leased).container.purpose.commandId).toBe("cmd_x");
  });

  it("that a command gave up waiting for wait for the next", async () => {
    const world = createWorld();
    await world.lease(base);
    await world.pass(50);
    const patience = new AbortController();
    const leased = world.acquire(base, patience.signal);
    await settle();
    patience.abort();
    await expect(leased).rejects.toMatchObject({ name: "RuntimeFault", code: "deadline" });
    await world.endAll();
    expect(world.warm.waiting()).toBe(1);
  });

  it("are not made while commands need the engine", async () => {
    const world = createWorld();
    const leases = Array.from({ length: STARTS_AT_ONCE }, () => world.acquire(base));
    await settle();
    await world.pass(50);
    expect(world.ahead()).toEqual([]);
    await world.endAll();
    await Promise.all(leases);
    await world.pass(50);
    expect(world.ahead().length).toBeGreaterThan(0);
    expect(world.ahead().length).toBeLessThanOrEqual(STARTS_AT_ONCE / 2);
  });

  it("are made more rarely with each fault of the engine, and at once again when it is back", async () => {
    const world = createWorld();
    await world.lease(base);
    let attempts = 0;
    for (let second = 0; second < 15; second += 1) {
      await world.pass(1_000);
      world.warm.review();
      attempts += world.ahead().length;
      await world.endAll(new RuntimeFault("unreachable", "create", "create: gone"));
    }
    expect(attempts).toBeGreaterThan(1);
    expect(attempts).toBeLessThan(8);
  });

  it("are made one at a time on a slow engine, with rests between, and not beside a command's own", async () => {
    const world = createWorld();
    const commands = [base, ...PURPOSES.slice(1, 3)];
    for (const purpose of commands) await world.lease(purpose);
    await world.pass(50);
    expect(world.ahead().length).toBeGreaterThan(1);
    await world.pass(5_000);
    await world.endAll();
    await world.pass(50);
    expect(world.ahead(), "the rest is as long as the start was").toEqual([]);
    await world.pass(5_000);
    const asked = world.acquire({ ...base, uid: 7 });
    await settle();
    world.warm.review();
    expect(world.ahead(), "a command's own is being made").toEqual([]);
    await world.endAll();
    await asked;
    world.warm.review();
    await settle();
    expect(world.ahead()).toHaveLength(1);
    for (let second = 0; second < 20; second += 1) {
      await world.pass(200);
      await world.endAll();
      for (const purpose of commands) await world.lease(purpose);
      await world.pass(5_000);
    }
    expect(world.ahead().length, "quick again").toBeGreaterThan(1);
  });

  it("wait again for a command that comes too seldom only once it comes twice in time", async () => {
    const world = createWorld();
    const seldom = async () => {
      await world.pass(TERMS.idleMs);
      world.warm.review();
      await world.refilled();
      expect(world.warm.waiting()).toBe(0);
      await world.lease(base);
      await world.refilled();
    };
    await world.lease(base);
    await world.refilled();
    expect(world.warm.waiting()).toBe(1);
    await seldom();
    expect(world.warm.waiting(), "the last one waited in vain").toBe(0);
    await world.lease(base);
    await world.refilled();
    expect(world.warm.waiting()).toBeGreaterThan(0);
  });

  it("whose removal failed take room until the sweeper has them gone", async () => {
    const world = createWorld();
    for (let i = 0; i < TERMS.containers; i += 1) {
      const leased = await world.lease(base);
      leased.stuck = true;
      world.warm.dispose(leased.container);
    }
    await world.pass(30);
    await world.endAll();
    await world.pass(50);
    await world.endAll();
    await world.pass(50);
    expect(world.warm.waiting()).toBe(0);
    world.cold.present(new Set());
    await world.pass(1_000);
    world.warm.review();
    await world.refilled();
    expect(world.warm.waiting()).toBeGreaterThan(0);
  });

  it("are gone when their kind is idle, and when the worker ends", async () => {
    const idle = createWorld();
    await idle.lease(base);
    await idle.refilled();
    await idle.pass(TERMS.idleMs);
    idle.warm.review();
    await idle.pass(50);
    expect(idle.waiting()).toEqual([]);

    const ending = createWorld();
    await ending.lease(base);
    await ending.refilled();
    await ending.lease({ ...base, uid: 5 });
    await ending.pass(50);
    expect(ending.ahead()).toHaveLength(1);
    ending.draining.abort();
    await ending.warm.settled();
    expect([ending.waiting(), ending.pending]).toEqual([[], []]);
  });

  it("hold every promise whatever happens in whatever order", async () => {
    const action = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant("acquire" as const), which: fc.nat(PURPOSES.length - 1) }),
      },
      { weight: 4, arbitrary: fc.record({ do: fc.constant("acquire" as const), which: fc.constant(0) }) },
      { weight: 6, arbitrary: fc.record({ do: fc.constant("ready" as const), which: fc.nat(5) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("fail" as const), which: fc.nat(5) }) },
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant("pass" as const), which: fc.integer({ min: 1, max: 3_000 }) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant("pass" as const),
          which: fc.integer({ min: 1, max: 70_000 }),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constantFrom("kill", "freeze", "stick", "dispose", "sweep", "review"),
          which: fc.nat(5),
        }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        const world = createWorld();
        const leased: Simulated[] = [];
        const asked: Promise<unknown>[] = [];
        const pick = <T>(from: readonly T[], which: number): T | undefined =>
          from[which % Math.max(1, from.length)];
        const check = () => {
          const live = [...world.containers.values()];
          const idle = live.filter(({ fate, stuck: isStuck }) => fate === "waits" && !isStuck).length;
          const handedOut = asked.length - leased.length;
          expect(world.ahead().length).toBeLessThanOrEqual(STARTS_AT_ONCE / 2);
          expect(world.pending.length).toBeLessThanOrEqual(STARTS_AT_ONCE);
          expect(world.warm.waiting() + world.ahead().length).toBeLessThanOrEqual(TERMS.containers);
          expect(idle).toBeLessThanOrEqual(TERMS.containers + handedOut);
          for (const one of live) expect(one.times).toBeLessThanOrEqual(1);
        };
        for (const step of actions) {
          switch (step.do) {
            case "acquire": {
              const lease = world.acquire(PURPOSES[step.which] ?? base);
              asked.push(
                lease.then(
                  (one) => leased.push(one),
                  (error: unknown) => {
                    if (!(error instanceof RuntimeFault)) throw error;
                  },
                ),
              );
              break;
            }
            case "ready":
              pick(world.pending, step.which)?.end(null);
              break;
            case "fail":
              pick(world.pending, step.which)?.end(new RuntimeFault("unreachable", "start", "start: gone"));
              break;
            case "pass":
              await world.pass(step.which);
              break;
            case "review":
              world.warm.review();
              break;
            case "sweep":
              world.cold.present(new Set());
              break;
            case "dispose": {
              const one = leased.shift();
              if (one !== undefined) world.warm.dispose(one.container);
              break;
            }
            default: {
              const one = pick([...world.containers.values()], step.which);
              if (one === undefined) break;
              if (step.do === "kill") one.alive = false;
              if (step.do === "freeze") one.frozen = true;
              if (step.do === "stick") one.stuck = true;
            }
          }
          await settle();
          check();
        }
        while (world.pending.some(({ purpose }) => purpose.commandId !== null)) await world.endAll();
        world.draining.abort();
        await settle();
        await world.endAll();
        await Promise.all(asked);
        for (const one of leased) world.warm.dispose(one.container);
        await world.warm.settled();
        for (const one of world.containers.values()) {
          expect(one.fate === "destroyed" || one.stuck).toBe(true);
        }
        expect(world.cold.containerIds().size).toBe(0);
      }),
      { numRuns: 150 },
    );
  });
});
