import { expect, test } from "vitest";
import { createWorkspaceWatch } from "../../../src/app/execute/workspace-watch.js";
import type { WorkspaceExcess, WorkspaceUse } from "../../../src/domain/workspace-growth.js";
import { silentLog, silentMetrics } from "../../support/silent-telemetry.js";

/** A watch over workspaces whose size the test says, and whose time passes when it says so. */
function aWatch() {
  const sizes = new Map<string, number>();
  const looks: string[] = [];
  const planned: { delayMs: number; work: () => void }[] = [];
  const now = { ms: 0, lookMs: 0 };
  const watch = createWorkspaceWatch({
    measure: async (path): Promise<WorkspaceUse> => {
      looks.push(path);
      now.ms += now.lookMs;
      const bytes = sizes.get(path);
      if (bytes === undefined) throw new Error("it can't be read");
      return { bytes, inodes: 1 };
    },
    limits: { bytes: 1_000, inodes: 100 },
    later: (delayMs, work) => planned.push({ delayMs, work }),
    clock: { nowMs: () => now.ms },
    log: silentLog,
    metrics: silentMetrics,
  });
  return {
    watch,
    sizes,
    looks,
    planned,
    now,
    ended: (path: string) => {
      const seen: WorkspaceExcess[] = [];
      return { seen, end: watch.watch(path, (excess) => seen.push(excess)) };
    },
    /** Lets the planned round happen; gives how long it had been put off. */
    async round(): Promise<number> {
      const next = planned.shift();
      if (next === undefined) throw new Error("nothing is planned");
      now.ms += next.delayMs;
      next.work();
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
      return next.delayMs;
    },
  };
}

test("every command of a workspace is ended when all that is in it passes the limit, none of another", async () => {
  const { ended, sizes, round, looks } = aWatch();
  sizes.set("/a", 10).set("/b", 10);
  const [first, second, other] = [ended("/a"), ended("/a"), ended("/b")];
  await round();
  sizes.set("/a", 1_001);
  await round();
  expect([first.seen, second.seen, other.seen]).toEqual([["workspace_bytes"], ["workspace_bytes"], []]);
  expect(looks).toEqual(["/a", "/b", "/a", "/b"]);
});

test("a command that has ended is looked at once more and then no longer", async () => {
  const { ended, sizes, round, planned, looks } = aWatch();
  sizes.set("/a", 10);
  ended("/a").end();
  expect(await round()).toBe(1_000);
  expect(planned).toEqual([]);
  expect(looks).toEqual(["/a"]);
});

test("short commands that fill a workspace far over its limit end in a refusal, until there is room again", async () => {
  const { watch, ended, sizes, round, now } = aWatch();
  sizes.set("/a", 1_300);
  expect(await watch.refuses("/a")).toBeNull();
  ended("/a").end();
  await round();
  expect(await watch.refuses("/a")).toBe("workspace_bytes");
  expect(await watch.refuses("/b")).toBeNull();
  sizes.set("/a", 100);
  now.ms += 1_000;
  expect(await watch.refuses("/a")).toBeNull();
});

test("a command that makes room in a workspace over its limit goes on", async () => {
  const { ended, sizes, round } = aWatch();
  sizes.set("/a", 1_200);
  ended("/a").end();
  await round();
  const cleaning = ended("/a");
  sizes.set("/a", 1_100);
  await round();
  expect(cleaning.seen).toEqual([]);
});

test("looks that take long are put off, so that they take a fifth of the time", async () => {
  const { ended, sizes, round, now } = aWatch();
  sizes.set("/a", 10);
  now.lookMs = 3_000;
  ended("/a");
  expect(await round()).toBe(1_000);
  expect(await round()).toBe(12_000);
});

test("a workspace that can't be measured ends nothing and is tried again", async () => {
  const { ended, round, planned } = aWatch();
  const command = ended("/gone");
  await round();
  expect(command.seen).toEqual([]);
  expect(planned).toHaveLength(1);
});
