import { expect, test } from "vitest";
import { createSweepContainers } from "../../../../src/app/recovery/sweep-containers.js";
import type { ContainerListing, ContainerRuntime } from "../../../../src/ports/container-runtime.js";
import { RuntimeFault } from "../../../../src/ports/container-runtime.js";
import { silentLog, silentMetrics } from "../../../support/silent-telemetry.js";

const NOW_MS = 1_000_000;
const GRACE_MS = 90_000;
const OLD_MS = NOW_MS - GRACE_MS - 1;

const listed = (containerId: string, given: Partial<ContainerListing>): ContainerListing => ({
  containerId,
  state: "running",
  workerId: "wrk_dead",
  commandId: "cmd_1",
  isProbe: false,
  createdAtMs: OLD_MS,
  deadlineMs: null,
  ...given,
});

/** Sweeps once as `wrk_me`, with `wrk_live` alive and everybody else dead; answers what was removed. */
async function sweep(
  containers: readonly ContainerListing[],
  given: {
    held?: readonly string[];
    stuck?: string;
    present?: (containerIds: ReadonlySet<string>) => void;
  } = {},
): Promise<string[]> {
  const removed: string[] = [];
  const runtime = {
    list: async () => containers,
    remove: async (containerId: string) => {
      if (containerId === given.stuck) throw new RuntimeFault("deadline", "remove", "remove: no answer");
      removed.push(containerId);
    },
  } as unknown as ContainerRuntime;
  await createSweepContainers({
    runtime,
    deadWorkers: {
      renewed: () => {},
      notRenewed: () => {},
      isDead: async (workerId) => workerId !== "wrk_live",
    },
    heldHere: () => new Set(given.held ?? []),
    present: (containerIds) => given.present?.(containerIds),
    workerId: "wrk_me",
    creationGraceMs: GRACE_MS,
    clock: { nowMs: () => NOW_MS },
    log: silentLog,
    metrics: silentMetrics,
  })();
  return removed;
}

test("a live peer's container stays, whatever its age and state (FB-45)", async () => {
  for (const state of ["created", "running", "exited", "dead", "other"] as const) {
    expect(await sweep([listed("peer", { workerId: "wrk_live", createdAtMs: 0, state })])).toEqual([]);
  }
});

test("a dead worker's container goes, warm or with a command at once, one that tries the engine when no start can be under way (FB-45)", async () => {
  expect(await sweep([listed("ran", { createdAtMs: NOW_MS })])).toEqual(["ran"]);
  expect(await sweep([listed("warm", { commandId: null, createdAtMs: NOW_MS })])).toEqual(["warm"]);
  const probe = { commandId: null, isProbe: true };
  expect(await sweep([listed("probed", probe)])).toEqual(["probed"]);
  expect(await sweep([listed("probing", { ...probe, createdAtMs: NOW_MS })])).toEqual([]);
});

test("what was created and never started goes like the rest", async () => {
  expect(await sweep([listed("stillborn", { state: "created" })])).toEqual(["stillborn"]);
  expect(await sweep([listed("nobody's", { state: "created", workerId: null })])).toEqual(["nobody's"]);
});

test("an own container goes when it is neither held nor young: its removal had failed", async () => {
  const own = (name: string, createdAtMs: number) => listed(name, { workerId: "wrk_me", createdAtMs });
  expect(
    await sweep([own("held", OLD_MS), own("young", NOW_MS), own("left", OLD_MS)], { held: ["held"] }),
  ).toEqual(["left"]);
});

test("one that the engine does not remove stops nothing else", async () => {
  expect(await sweep([listed("stuck", {}), listed("other", {})], { stuck: "stuck" })).toEqual(["other"]);
});
