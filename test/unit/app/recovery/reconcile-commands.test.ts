import { expect, test } from "vitest";
import { createReconcileCommands } from "../../../../src/app/recovery/reconcile-commands.js";
import type { CommandRecord } from "../../../../src/domain/command.js";
import type { CommandQueue } from "../../../../src/ports/command-queue.js";
import type { LeaseStore, Orphan } from "../../../../src/ports/command-store.js";
import { silentLog, silentMetrics } from "../../../support/silent-telemetry.js";

const GRACE_MS = 2_000;
const CLAIM_TO_SEND_MS = 3_000;
const TIMEOUT_MS = 30_000;
const WHOLE_TIME_MS = CLAIM_TO_SEND_MS + TIMEOUT_MS + 2 * GRACE_MS;

const orphan = (
  given: Partial<Omit<Orphan, "record">> & { workerId?: string; id?: string } = {},
): Orphan => ({
  record: {
    id: given.id ?? "cmd_1",
    workerId: given.workerId ?? "wrk_dead",
    containerId: `container-of-${given.id ?? "cmd_1"}`,
    fence: "fen_1",
    pool: "default",
    request: { timeoutMs: TIMEOUT_MS },
  } as unknown as CommandRecord,
  engineId: given.engineId === undefined ? "engine-here" : given.engineId,
  dispatchedForMs: given.dispatchedForMs ?? 10_000,
  isOverdue: given.isOverdue ?? false,
});

/** One round, or one at each of the times; answers the order of what was done. */
async function round(
  orphans: readonly Orphan[],
  given: {
    engine?: "here" | "none" | "failing";
    dead?: (workerId: string) => boolean;
    liveEngines?: readonly string[];
    unqueued?: readonly string[];
    atMs?: readonly number[];
  } = {},
): Promise<string[]> {
  const trace: string[] = [];
  const leases = {
    liveEngines: async () => new Set(given.liveEngines ?? []),
    orphaned: async () => orphans,
    unqueued: async () => (given.unqueued ?? []).map((id) => ({ id, pool: "default" })),
    declareLost: async (commandId: string) => {
      trace.push(`lost ${commandId}`);
      return true;
    },
  } as unknown as LeaseStore;
  const queue = {
    enqueue: async (_pool: string, { commandId }: { commandId: string }) =>
      void trace.push(`queued ${commandId}`),
  } as unknown as CommandQueue;
  let nowMs = 0;
  const reconcile = createReconcileCommands({
    leases,
    deadWorkers: {
      renewed: () => {},
      notRenewed: () => {},
      isDead: async (workerId) => given.dead?.(workerId) ?? true,
    },
    queue,
    engine:
      given.engine === "none"
        ? null
        : {
            engineId: "engine-here",
            runtime: {
              remove: async (containerId) => {
                if (given.engine === "failing") throw new Error("the engine does not answer");
                trace.push(`removed ${containerId}`);
              },
            },
          },
    workerId: "wrk_me",
    claimToSendMs: CLAIM_TO_SEND_MS,
    graceMs: GRACE_MS,
    overdueMs: 10 * WHOLE_TIME_MS,
    clock: { nowMs: () => nowMs },
    log: silentLog,
    metrics: silentMetrics,
  });
  for (nowMs of given.atMs ?? [0]) await reconcile();
  return trace;
}

test("lost is said behind the removal of the one container that could have the argv, and of no other (FB-45)", async () => {
  expect(await round([orphan()])).toEqual(["removed container-of-cmd_1", "lost cmd_1"]);
});

test("nobody condemns a worker whose death is not confirmed, or itself", async () => {
  expect(await round([orphan()], { dead: () => false })).toEqual([]);
  expect(await round([orphan({ workerId: "wrk_me" })])).toEqual([]);
});

test("what is dispatched far beyond its time is lost whoever lives, but not before it was seen so for its own time and a minute", async () => {
  for (const workerId of ["wrk_alive", "wrk_me"]) {
    const overdue = orphan({ workerId, isOverdue: true, dispatchedForMs: 20 * WHOLE_TIME_MS });
    const living = { dead: () => false };
    expect(await round([overdue], { ...living, atMs: [0, 60_000, WHOLE_TIME_MS + 59_999] })).toEqual([]);
    expect(await round([overdue], { ...living, atMs: [0, WHOLE_TIME_MS + 60_000] })).toEqual([
      "removed container-of-cmd_1",
      "lost cmd_1",
    ]);
    const young = orphan({ workerId, isOverdue: true });
    expect(await round([young], { ...living, atMs: [0, 60_000, 20 * WHOLE_TIME_MS] })).toEqual([]);
  }
});

test("an engine that does not remove keeps the verdict until the command's whole time is over, and no longer (FB-22)", async () => {
  expect(await round([orphan({ dispatchedForMs: WHOLE_TIME_MS })], { engine: "failing" })).toEqual([]);
  expect(await round([orphan({ dispatchedForMs: WHOLE_TIME_MS + 1 })], { engine: "failing" })).toEqual([
    "lost cmd_1",
  ]);
});

test("another engine's command waits for its whole time, and for that engine's own workers while there are any", async () => {
  const late = WHOLE_TIME_MS + 1;
  for (const engineId of ["engine-there", null]) {
    expect(await round([orphan({ engineId })])).toEqual([]);
    expect(await round([orphan({ engineId, dispatchedForMs: late })])).toEqual(["lost cmd_1"]);
  }
  const there = orphan({ engineId: "engine-there", dispatchedForMs: late });
  expect(await round([there], { liveEngines: ["engine-there"] })).toEqual([]);
});

test("a process without an engine ends what is past its time, for when no worker is left", async () => {
  expect(await round([orphan()], { engine: "none" })).toEqual([]);
  expect(await round([orphan({ dispatchedForMs: WHOLE_TIME_MS + 1 })], { engine: "none" })).toEqual([
    "lost cmd_1",
  ]);
});

test("what waits only for an entry in the queue does not wait for removals", async () => {
  expect(await round([orphan()], { unqueued: ["cmd_2"] })).toEqual([
    "queued cmd_2",
    "removed container-of-cmd_1",
    "lost cmd_1",
  ]);
});

test("every command of a worker's death is ended in one round", async () => {
  const many = Array.from({ length: 50 }, (_, index) => orphan({ id: `cmd_${index}` }));
  expect((await round(many)).filter((line) => line.startsWith("lost"))).toHaveLength(50);
});
