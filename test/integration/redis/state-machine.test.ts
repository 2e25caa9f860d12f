import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandState, stateAfter, type Transition } from "../../../src/domain/command.js";
import { lost } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import type { Session } from "../../../src/domain/session.js";
import {
  aCompletedResult,
  admitQueued,
  aRecord,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  IDLE,
  NO_QUOTAS,
  openStoreFixture,
  type StoreFixture,
} from "../../support/redis-fixtures.js";
import { expectConsistent } from "../../support/redis-invariants.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";

const GRANTED = 6;
const LOST = unstartedResult(lost("the worker is gone"));

let server: RedisServer;
let fixture: StoreFixture;

beforeAll(async () => {
  server = await startRedisServer();
  fixture = await openStoreFixture(server);
});
afterAll(async () => {
  await fixture.close();
  await server.stop();
});

/** What the model knows of one command. */
interface ModelCommand {
  state: CommandState;
  fence: string | null;
  cancelRequested: boolean;
  /** Who ended it: a fence, or the name of a step. */
  endedBy: string | null;
  givenBack: string | null;
  /** Fences that were given back, whether or not they had claimed. */
  voided: Set<string>;
}
interface Model {
  commands: Map<string, ModelCommand>;
  dispatchesLeft: number;
  isSessionThere: boolean;
  isLeaseHeld: boolean;
}
interface Real {
  session: Session;
  workerId: string;
  ids: string[];
}
type Step = fc.AsyncCommand<Model, Real, true>;

const FENCES = ["fen_a", "fen_b", "fen_c", "fen_d", "fen_e"];

/** The step of the table, if the table has it. */
function move(command: ModelCommand, transition: Transition): boolean {
  const next = stateAfter(command.state, transition);
  if (next !== null) command.state = next;
  return next !== null;
}

function step(name: string, run: (model: Model, real: Real) => Promise<void>): Step {
  return { check: async () => true, run, toString: () => name };
}

/** A step on the nth command that was admitted so far. */
function onCommand(
  name: string,
  nth: number,
  run: (id: string, command: ModelCommand, model: Model, real: Real) => Promise<void>,
): Step {
  return {
    check: async (model) => model.commands.size > 0,
    async run(model, real) {
      const id = real.ids[nth % real.ids.length] ?? "";
      const command = model.commands.get(id);
      if (command === undefined) throw new Error("the model lost a command");
      await run(id, command, model, real);
      expect((await fixture.commands.get(id))?.state).toBe(command.state);
    },
    toString: () => `${name} #${nth}`,
  };
}

const admit = (state: "queued" | "awaiting_approval") =>
  step(`admit ${state}`, async (model, real) => {
    const record = aRecord(real.session, { state });
    const answer = await fixture.commands.admit({
      record,
      idempotency: null,
      quotas: NO_QUOTAS,
      sessionVersion: null,
    });
    if (!model.isSessionThere) {
      expect(answer).toEqual({ kind: "session_gone" });
    } else if (model.dispatchesLeft === 0) {
      expect(answer).toEqual({ kind: "grant_exhausted" });
    } else {
      expect(answer.kind).toBe("admitted");
      model.dispatchesLeft -= 1;
      real.ids.push(record.id);
      model.commands.set(record.id, {
        state,
        fence: null,
        cancelRequested: false,
        endedBy: null,
        givenBack: null,
        voided: new Set(),
      });
    }
  });

const claim = (nth: number, fence: string) =>
  onCommand(`claim ${fence}`, nth, async (id, command, model, real) => {
    const answer = await fixture.commands.claim({
      commandId: id,
      workerId: real.workerId,
      fence,
      containerId: "c",
      seen: null,
    });
    if (command.state === "dispatched" && command.fence === fence) {
      expect(answer.kind).toBe("claimed");
    } else if (stateAfter(command.state, "dispatch") === null || command.voided.has(fence)) {
      expect(answer).toEqual({ kind: "not_queued", state: command.state });
    } else if (!model.isSessionThere) {
      expect(answer).toEqual({ kind: "not_queued", state: "finished" });
      move(command, "end_unstarted");
      command.endedBy = "cancel";
    } else if (!model.isLeaseHeld) {
      expect(answer).toEqual({ kind: "no_lease" });
    } else {
      expect(answer).toMatchObject({ kind: "claimed", fence, record: { id, state: "dispatched", fence } });
      move(command, "dispatch");
      command.fence = fence;
    }
  });

const giveBack = (nth: number, fence: string) =>
  onCommand(`give back ${fence}`, nth, async (id, command, model) => {
    const answer = await fixture.commands.giveBack(id, fence);
    if (command.state !== "finished") command.voided.add(fence);
    if (command.givenBack === fence) {
      expect(answer).toBe(true);
    } else if (command.state === "dispatched" && command.fence === fence) {
      expect(answer).toBe(true);
      command.givenBack = fence;
      move(command, "give_back");
      if (command.cancelRequested) {
        move(command, "end_unstarted");
        command.endedBy = "cancel";
        model.dispatchesLeft += 1;
      } else {
        command.fence = null;
      }
    } else {
      expect(answer).toBe(false);
    }
  });

const finish = (nth: number, fence: string) =>
  onCommand(`finish ${fence}`, nth, async (id, command) => {
    const answer = await fixture.commands.finish(id, fence, aCompletedResult());
    const isHolder = command.fence === fence && stateAfter(command.state, "finish") !== null;
    expect(answer).toBe(isHolder || (command.state === "finished" && command.endedBy === fence));
    if (isHolder) {
      move(command, "finish");
      command.endedBy = fence;
    }
  });

const endUnstarted = (nth: number) =>
  onCommand("end unstarted", nth, async (id, command, model) => {
    const answer = await fixture.commands.endUnstarted(id, CANCELLED);
    const moved = move(command, "end_unstarted");
    expect(answer).toBe(moved);
    if (moved) {
      command.endedBy = "unstarted";
      model.dispatchesLeft += 1;
    }
  });

const cancel = (nth: number) =>
  onCommand("cancel", nth, async (id, command, model) => {
    const answer = await fixture.commands.requestCancel(id, CANCELLED);
    if (command.state === "finished") {
      expect(answer).toBe("already_finished");
    } else if (move(command, "end_unstarted")) {
      expect(answer).toBe("never_started");
      command.endedBy = "cancel";
      model.dispatchesLeft += 1;
    } else {
      expect(answer).toBe("requested");
      command.cancelRequested = true;
    }
  });

const declareLost = (nth: number, fence: string) =>
  onCommand(`declare lost ${fence}`, nth, async (id, command, model) => {
    const answer = await fixture.leases.declareLost(id, fence, LOST);
    if (command.endedBy === "lost") {
      expect(answer).toBe(command.fence === fence);
      return;
    }
    const may = command.fence === fence && !model.isLeaseHeld && stateAfter(command.state, "finish") !== null;
    expect(answer).toBe(may);
    if (may) {
      move(command, "finish");
      command.endedBy = "lost";
    }
  });

const lease = (isHeld: boolean) =>
  step(isHeld ? "heartbeat" : "lease over", async (model, real) => {
    const leaseMs = isHeld ? 60_000 : -1;
    await fixture.leases.heartbeat({ workerId: real.workerId, engineId: "e", leaseMs, status: IDLE });
    model.isLeaseHeld = isHeld;
  });

const removeSession = () =>
  step("remove session", async (model, real) => {
    const open = await fixture.sessions.remove(real.session.tenant, real.session.id);
    if (!model.isSessionThere) {
      expect(open).toBeNull();
      return;
    }
    const unfinished = real.ids.filter((id) => model.commands.get(id)?.state !== "finished");
    expect([...(open ?? [])].sort()).toEqual(unfinished.sort());
    model.isSessionThere = false;
  });

const nth = fc.nat({ max: 4 });
const fence = fc.constantFrom(...FENCES);
const histories = fc.commands<Model, Real, true>(
  [
    fc.constantFrom(admit("queued"), admit("queued"), admit("awaiting_approval")),
    fc.tuple(nth, fence).map(([n, f]) => claim(n, f)),
    fc.tuple(nth, fence).map(([n, f]) => claim(n, f)),
    fc.tuple(nth, fence).map(([n, f]) => giveBack(n, f)),
    fc.tuple(nth, fence).map(([n, f]) => finish(n, f)),
    nth.map(endUnstarted),
    nth.map(cancel),
    fc.tuple(nth, fence).map(([n, f]) => declareLost(n, f)),
    fc.boolean().map(lease),
    fc.constant(removeSession()),
  ] as fc.Arbitrary<fc.AsyncCommand<Model, Real, true>>[],
  { size: "+1", maxCommands: 40 },
);

async function newSession(): Promise<Session> {
  const session = aSession({ tenant: freshId("key"), grant: { dispatchesLeft: GRANTED } });
  await fixture.sessions.create(session);
  return session;
}

describe("the state machine of a command", () => {
  it("moves as the domain's table says, whatever is asked in whatever order", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const session = await newSession();
        const real: Real = { session, workerId: freshId("wrk"), ids: [] };
        const model: Model = {
          commands: new Map(),
          dispatchesLeft: GRANTED,
          isSessionThere: true,
          isLeaseHeld: false,
        };
        await fc.asyncModelRun(() => ({ model, real }), history);
        const left = (await fixture.sessions.get(session.tenant, session.id))?.grant.dispatchesLeft;
        if (model.isSessionThere) expect(left).toBe(model.dispatchesLeft);
        else expect(left).toBeUndefined();
      }),
      { numRuns: 150 },
    );
    await expectConsistent(fixture);
  });

  it("keeps one verdict and exact counts when many actors act on the same commands at once", async () => {
    const actions = ["claim", "finish", "give_back", "end", "cancel", "lost", "remove"] as const;
    const action = fc.record({
      kind: fc.constantFrom(...actions.slice(0, 6), ...actions),
      nth: fc.nat({ max: 2 }),
      fence,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(action, { minLength: 2, maxLength: 12 }), { minLength: 1, maxLength: 5 }),
        async (rounds) => {
          const session = await newSession();
          const workerId = freshId("wrk");
          await fixture.leases.heartbeat({ workerId, engineId: "e", leaseMs: 60_000, status: IDLE });
          const records = [
            aRecord(session),
            aRecord(session),
            aRecord(session, { state: "awaiting_approval" }),
          ];
          for (const record of records)
            await fixture.commands.admit({
              record,
              idempotency: null,
              quotas: NO_QUOTAS,
              sessionVersion: null,
            });
          const verdicts = new Map<string, unknown>();
          for (const [i, round] of rounds.entries()) {
            await Promise.all(
              round.map(async ({ kind, nth: n, fence: f }) => {
                const id = records[n]?.id ?? "";
                const holder = { commandId: id, workerId, fence: f, containerId: "c", seen: null };
                if (kind === "claim") {
                  await fixture.leases.heartbeat({ workerId, engineId: "e", leaseMs: 60_000, status: IDLE });
                  await fixture.commands.claim(holder);
                }
                if (kind === "finish")
                  await fixture.commands.finish(id, f, aCompletedResult({ returncode: i }));
                if (kind === "give_back") await fixture.commands.giveBack(id, f);
                if (kind === "end") await fixture.commands.endUnstarted(id, CANCELLED);
                if (kind === "cancel") await fixture.commands.requestCancel(id, CANCELLED);
                if (kind === "lost") {
                  await fixture.leases.leave(workerId);
                  await fixture.leases.declareLost(id, f, LOST);
                }
                if (kind === "remove") await fixture.sessions.remove(session.tenant, session.id);
              }),
            );
            for (const record of records) {
              const now = await fixture.commands.get(record.id);
              if (verdicts.has(record.id)) expect(now).toEqual(verdicts.get(record.id));
              if (now?.state === "finished") verdicts.set(record.id, now);
            }
          }
          const left = await fixture.redis.hget(
            `{bailiff:${fixture.deployment}}:session:${session.id}`,
            "dispatchesLeft",
          );
          if (left !== null) {
            const consumed = await Promise.all(
              records.map(({ id }) =>
                fixture.redis.hget(`{bailiff:${fixture.deployment}}:cmd:${id}`, "reserved"),
              ),
            );
            expect(Number(left)).toBe(GRANTED - consumed.filter((each) => each === "1").length);
          }
        },
      ),
      { numRuns: 60 },
    );
    await expectConsistent(fixture);
  });

  it("either never starts a command or tells its worker, when cancel and claim race (FB-49)", async () => {
    const session = await newSession();
    const free = aSession({ tenant: session.tenant });
    await fixture.sessions.create(free);
    // Connections of their own: who is first is for Redis to say.
    const api = await openStoreFixture(server, { deployment: fixture.deployment });
    const outcomes = { never_started: 0, requested: 0 };
    for (let i = 0; i < 500; i += 1) {
      const { id: commandId } = (await admitQueued(fixture, free)).record;
      const fence = freshId("fen");
      const claiming = claimFor(fixture, commandId, fence);
      const [claimed, cancelled] = await Promise.all([
        claiming,
        api.commands.requestCancel(commandId, CANCELLED),
      ]);
      if (cancelled === "never_started") {
        expect(claimed).toEqual({ kind: "not_queued", state: "finished" });
        outcomes.never_started += 1;
      } else {
        expect(cancelled).toBe("requested");
        expect(claimed.kind).toBe("claimed");
        outcomes.requested += 1;
        expect(await fixture.commands.finish(commandId, fence, aCompletedResult())).toBe(true);
      }
    }
    await api.close();
    expect(outcomes.never_started + outcomes.requested).toBe(500);
    await expectConsistent(fixture);
  });
});
