import { expect, test } from "vitest";
import { createDeadWorkers } from "../../../../src/app/recovery/dead-workers.js";
import type { LeaseStore } from "../../../../src/ports/command-store.js";

function watching(alive: Set<string>) {
  return createDeadWorkers({
    leases: { isAlive: async (workerId: string) => alive.has(workerId) } as unknown as LeaseStore,
  });
}

test("a worker without a lease is dead only after three renewals of one's own", async () => {
  const workers = watching(new Set());
  const seen: boolean[] = [await workers.isDead("wrk_a")];
  for (let renewal = 0; renewal < 3; renewal += 1) {
    workers.renewed();
    seen.push(await workers.isDead("wrk_a"));
  }
  expect(seen).toEqual([false, false, false, true]);
});

test("looks alone condemn nobody, however many: a process that was suspended has not renewed", async () => {
  const workers = watching(new Set());
  for (let look = 0; look < 100; look += 1) expect(await workers.isDead("wrk_a")).toBe(false);
});

test("a lease in between, or a renewal that failed, begins the count again (FB-51)", async () => {
  const alive = new Set<string>();
  const workers = watching(alive);
  await workers.isDead("wrk_a");
  for (let renewal = 0; renewal < 5; renewal += 1) workers.renewed();
  alive.add("wrk_a");
  expect(await workers.isDead("wrk_a")).toBe(false);
  alive.clear();
  expect(await workers.isDead("wrk_a")).toBe(false);
  for (let renewal = 0; renewal < 2; renewal += 1) workers.renewed();
  workers.notRenewed();
  workers.renewed();
  expect(await workers.isDead("wrk_a")).toBe(false);
});
