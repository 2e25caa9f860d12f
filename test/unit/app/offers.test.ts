import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { untraced } from "../../../src/adapters/telemetry/untraced.js";
import { createActiveCommands } from "../../../src/app/execute/active-commands.js";
import { createExecuteCommand } from "../../../src/app/execute/execute-command.js";
import { createHeldCommands } from "../../../src/app/execute/held-commands.js";
import { createOfferCommand } from "../../../src/app/execute/offer-command.js";
import { createTakeOffers } from "../../../src/app/execute/take-offers.js";
import { fleetKindOf } from "../../../src/app/execute/warm-kind.js";
import type { CommandRecord } from "../../../src/domain/command.js";
import { DEFAULT_SERVICE_LIMITS } from "../../../src/domain/limits.js";
import type { CommandStore } from "../../../src/ports/command-store.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import type { ReadyContainer } from "../../../src/ports/container-runtime.js";
import type { OfferAnswer, WarmHomes, WarmOffer } from "../../../src/ports/warm-homes.js";
import { aPurpose } from "../../support/container-purpose.js";
import { anInitReport } from "../../support/init-report.js";
import { silentLog, silentMetrics } from "../../support/silent-telemetry.js";
import { until } from "../../support/until.js";

const purpose = aPurpose();
const KIND = fleetKindOf(purpose);
const empty = { bytes: new Uint8Array(), seenBytes: 0, sha256: "" };
const OFFER_MS = 50;
const HOME = "wrk_home";

/** What happens to one thing that a fleet waits for or says; by itself all of it happens at once. */
interface World {
  /** Does it at some moment, or never. */
  readonly step: (what: string, work: () => void) => void;
  readonly messages: string[];
}

/** Workers over one store, whose claim is the only thing that can't be had twice. */
function createFleet(world: World) {
  const states = new Map<string, { state: string; fence: string | null }>();
  const ledger: string[] = [];
  const counts = new Map<string, number>();
  const ears = new Map<string, { offered: (o: WarmOffer) => void; answered: (a: OfferAnswer) => void }>();
  const homes = new Map<string, string>([[KIND, HOME]]);
  let leased = 0;
  let disposed = 0;

  const later = <T>(what: string, work: () => T) =>
    new Promise<T>((resolve) => world.step(what, () => resolve(work())));
  const commands = {
    get: (id: string) =>
      later("get", () => ({
        id,
        tenant: "t",
        state: states.get(id)?.state ?? "queued",
        queuedAtMs: 0,
        createdAtMs: 0,
        request: { argv: ["true"], cwd: ".", timeoutMs: 1_000, sourceObjects: [] },
        decision: { gitHardened: false },
      })) as unknown as Promise<CommandRecord>,
    claim: ({ commandId, fence }: { commandId: string; fence: string }) =>
      later("claim", () => {
        const { state } = states.get(commandId) ?? { state: "queued" };
        if (state !== "queued") return { kind: "not_queued", state };
        states.set(commandId, { state: "dispatched", fence });
        return { kind: "claimed", fence, record: { id: commandId, cancelRequested: false } };
      }),
    finish: (commandId: string, fence: string) =>
      later("finish", () => {
        if (states.get(commandId)?.fence !== fence) return false;
        states.set(commandId, { state: "finished", fence });
        return true;
      }),
  } as unknown as CommandStore;

  const warmHomes: WarmHomes = {
    settle: async (kind, workerId) => void homes.set(kind, workerId),
    homeOf: (kind) => later("home", () => homes.get(kind) ?? null),
    forget: async (kind) => void homes.delete(kind),
    async offer(to, offer) {
      world.messages.push(`offer to ${to}`);
      world.step("message", () => ears.get(to)?.offered(offer));
      return ears.has(to);
    },
    async answer(to, answer) {
      world.messages.push(`${answer.isTaken ? "taken" : "declined"} to ${to}`);
      world.step("message", () => ears.get(to)?.answered(answer));
    },
    listen: (workerId, hears) => {
      ears.set(workerId, hears);
      return () => ears.delete(workerId);
    },
  };

  const join = (workerId: string, waiting: number, parts: { homes?: Partial<WarmHomes> } = {}) => {
    const told: WarmHomes = { ...warmHomes, ...parts.homes };
    const draining = new AbortController();
    const metrics = {
      ...silentMetrics,
      count: (name: string, labels: Readonly<Record<string, string>> = {}) => {
        const key = [name, ...Object.values(labels)].join(" ");
        counts.set(key, (counts.get(key) ?? 0) + 1);
      },
    };
    const state = { waiting, made: 0 };
    const lease = (): ReadyContainer => {
      leased += 1;
      let runs = 0;
      return {
        containerId: `${workerId}-${leased}`,
        purpose,
        createdAtMs: 0,
        isHealthy: () => true,
        answers: async () => true,
        async run() {
          runs += 1;
          expect(runs, "a container runs one command").toBe(1);
          ledger.push(workerId);
          return { kind: "report", stdout: empty, stderr: empty, report: anInitReport() };
        },
        destroy: async () => {},
      };
    };
    const takeWaiting = () => {
      if (state.waiting === 0) return null;
      state.waiting -= 1;
      return lease();
    };
    const containers = {
      holds: () => state.waiting > 0,
      hasWaiting: (kind: string) => kind === KIND && state.waiting > 0,
      acquireWaiting: () => later("answers", takeWaiting),
      acquire: () =>
        later("container", () => {
          const ready = takeWaiting();
          if (ready !== null) return ready;
          state.made += 1;
          return lease();
        }),
      dispose: () => {
        disposed += 1;
      },
    };
    const offers = createOfferCommand({
      homes: told,
      containers,
      workerId,
      offerMs: OFFER_MS,
      later: (_delayMs, work) => world.step("over", work),
      metrics,
    });
    let fences = 0;
    const execute = createExecuteCommand({
      commands,
      recheck: async () => ({
        kind: "proceed",
        plan: { seen: null, purpose, argv: ["true"], environment: {} },
      }),
      containers,
      offer: offers.offer,
      active: createActiveCommands(),
      workspaces: { watch: () => () => {} },
      held: createHeldCommands({
        commands,
        log: silentLog,
        metrics,
        pause: async () => {},
        givesUp: () => false,
      }),
      limits: DEFAULT_SERVICE_LIMITS,
      workerId,
      claimToSendMs: 3_000,
      clock: { nowMs: () => 0 },
      ids: {
        next: (kind) => {
          fences += 1;
          return `${kind}_${workerId}_${fences}`;
        },
      },
      log: silentLog,
      metrics,
      tracer: untraced,
      pause: async () => {},
      draining: draining.signal,
      givesUp: () => false,
    });
    const taker = createTakeOffers({
      homes: told,
      containers,
      execute,
      workerId,
      concurrency: 2,
      draining: draining.signal,
      log: silentLog,
      metrics,
    });
    warmHomes.listen(workerId, { offered: taker.offered, answered: offers.answered });
    return { ...taker, offer: offers.offer, state, draining };
  };

  return {
    join,
    ledger,
    homes,
    ears,
    unlisted: () => leased - disposed,
    offers: (result: string) => counts.get(`bailiff_warm_offers_total ${result}`) ?? 0,
    stateOf: (id: string) => states.get(id)?.state ?? "queued",
  };
}

/** All happens at once, but for what the test holds back until it lets it go. */
function createCalmWorld(held: readonly string[] = ["over"]) {
  const kept: { what: string; work: () => void }[] = [];
  const world: World & { readonly letGo: (what: string) => void } = {
    messages: [],
    step: (what, work) => {
      if (held.includes(what)) kept.push({ what, work });
      else setImmediate(work);
    },
    letGo: (what) => {
      for (const each of kept.splice(0)) {
        if (each.what === what) each.work();
        else kept.push(each);
      }
    },
  };
  return world;
}

describe("a command of a workspace whose container waits elsewhere", () => {
  test("is run there, and no container is made for it where it was taken from the queue", async () => {
    const world = createCalmWorld();
    const fleet = createFleet(world);
    const [home, other] = [fleet.join(HOME, 1), fleet.join("wrk_other", 0)];
    expect(await other.fromQueue("cmd_1")).toBe("done");
    await home.settled();
    expect(fleet.ledger).toEqual([HOME]);
    expect(other.state.made).toBe(0);
    expect([fleet.stateOf("cmd_1"), fleet.offers("taken"), fleet.unlisted()]).toEqual(["finished", 1, 0]);
    expect(world.messages).toEqual([`offer to ${HOME}`, "taken to wrk_other"]);
  });

  test("stays where one waits as well, and Redis is asked nothing", async () => {
    const world = createCalmWorld(["home"]);
    const fleet = createFleet(world);
    fleet.join(HOME, 1);
    expect(await fleet.join("wrk_other", 1).fromQueue("cmd_1")).toBe("done");
    expect(fleet.ledger).toEqual(["wrk_other"]);
    expect(world.messages).toEqual([]);
  });

  test.each([
    { when: "no home is known", prepare: (fleet: ReturnType<typeof createFleet>) => fleet.homes.clear() },
    {
      when: "this worker was its home",
      prepare: (fleet: ReturnType<typeof createFleet>) => void fleet.homes.set(KIND, "wrk_other"),
    },
  ])("is offered to nobody where $when", async ({ prepare }) => {
    const world = createCalmWorld();
    const fleet = createFleet(world);
    prepare(fleet);
    expect(await fleet.join("wrk_other", 0).fromQueue("cmd_1")).toBe("done");
    expect(fleet.ledger).toEqual(["wrk_other"]);
    expect(world.messages).toEqual([]);
  });

  test.each([
    { when: "none waits any more", waiting: 0, busy: 0, drains: false },
    { when: "the home has as many commands as it runs at once", waiting: 1, busy: 2, drains: false },
    { when: "the home ends", waiting: 1, busy: 0, drains: true },
  ])("is declined at once where $when, and runs where it was taken", async ({ waiting, busy, drains }) => {
    const world = createCalmWorld(["container", "over"]);
    const fleet = createFleet(world);
    const [home, other] = [fleet.join(HOME, 0), fleet.join("wrk_other", 0)];
    fleet.homes.clear();
    const running = Array.from({ length: busy }, (_, n) => home.fromQueue(`cmd_own_${n}`));
    home.state.waiting = waiting;
    fleet.homes.set(KIND, HOME);
    if (drains) home.draining.abort();
    const ran = other.fromQueue("cmd_1");
    await until(async () => fleet.offers("declined") === 1);
    world.letGo("container");
    expect(await ran).toBe("done");
    await until(async () => {
      world.letGo("container");
      return fleet.ledger.includes("wrk_other");
    });
    world.letGo("container");
    await Promise.all(running);
    expect(fleet.ledger.filter((each) => each === "wrk_other")).toHaveLength(1);
    expect(fleet.ledger).toHaveLength(1 + busy);
  });

  test("waits for a silent home until the time is over, and the next one does not ask it", async () => {
    const world = createCalmWorld(["message", "over"]);
    const fleet = createFleet(world);
    fleet.join(HOME, 1);
    const other = fleet.join("wrk_other", 0);
    const ran = other.fromQueue("cmd_1");
    await until(async () => world.messages.length === 1);
    world.letGo("over");
    expect(await ran).toBe("done");
    expect([fleet.ledger, fleet.offers("silent")]).toEqual([["wrk_other"], 1]);
    expect(await other.fromQueue("cmd_2")).toBe("done");
    expect(world.messages).toHaveLength(1);
    // The home hears of it only now: the command has run.
    world.letGo("message");
    await until(async () => world.messages.includes("declined to wrk_other"));
    expect(fleet.ledger).toHaveLength(2);
  });

  test("does not wait at all for a home that hears nothing", async () => {
    const fleet = createFleet(createCalmWorld());
    expect(await fleet.join("wrk_other", 0).fromQueue("cmd_1")).toBe("done");
    expect([fleet.ledger, fleet.offers("silent")]).toEqual([["wrk_other"], 1]);
  });

  test("goes its usual way where Redis fails, and offers nothing once the time is over", async () => {
    const world = createCalmWorld(["home", "over"]);
    const fleet = createFleet(world);
    fleet.join(HOME, 1);
    const fails = async () => {
      throw new StoreUnavailable("Redis did not do it");
    };
    expect(await fleet.join("wrk_other", 0, { homes: { homeOf: fails } }).fromQueue("cmd_1")).toBe("done");
    expect(fleet.offers("failed")).toBe(1);
    const ran = fleet.join("wrk_third", 0).fromQueue("cmd_2");
    await until(async () => {
      world.letGo("over");
      return fleet.offers("failed") === 2;
    });
    world.letGo("home");
    expect(await ran).toBe("done");
    expect(fleet.ledger).toEqual(["wrk_other", "wrk_third"]);
    expect(world.messages).toEqual([]);
  });

  test("is not given up for the word of a worker that was not asked", async () => {
    const world = createCalmWorld(["message", "over"]);
    const fleet = createFleet(world);
    fleet.join(HOME, 1);
    const other = fleet.join("wrk_other", 0);
    const ran = other.fromQueue("cmd_1");
    await until(async () => world.messages.length === 1);
    fleet.ears.get("wrk_other")?.answered({ commandId: "cmd_1", from: "wrk_third", isTaken: true });
    world.letGo("over");
    expect(await ran).toBe("done");
    expect(fleet.ledger).toEqual(["wrk_other"]);
  });
});

test("whatever messages are lost, doubled or late, and whoever is handed a command twice, each command runs once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.infiniteStream(fc.constantFrom(1, 1, 1, 0, 2)),
      fc.array(fc.record({ command: fc.nat(3), worker: fc.nat(2) }), { minLength: 1, maxLength: 8 }),
      fc.tuple(fc.nat(3), fc.nat(1), fc.nat(1)),
      async (scheduler, fates, entries, waiting) => {
        const world: World = {
          messages: [],
          step: (what, work) => {
            const times = what === "message" ? (fates.next().value ?? 1) : 1;
            for (let time = 0; time < times; time += 1) scheduler.schedule(Promise.resolve()).then(work);
          },
        };
        const fleet = createFleet(world);
        const workers = [HOME, "wrk_b", "wrk_c"].map((id, index) => fleet.join(id, waiting[index] ?? 0));
        const answers = Promise.all(
          entries.map(({ command, worker }) => workers[worker]?.fromQueue(`cmd_${command}`)),
        );
        const settled = (async () => {
          const all = await answers;
          await Promise.all(workers.map((worker) => worker.settled()));
          return all;
        })();
        const said = await scheduler.waitFor(settled);
        expect(new Set(said)).toEqual(new Set(["done"]));
        const wanted = new Set(entries.map(({ command }) => `cmd_${command}`));
        for (const id of wanted) expect(fleet.stateOf(id)).toBe("finished");
        expect(fleet.ledger).toHaveLength(wanted.size);
      },
    ),
    { numRuns: 300 },
  );
});
