import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planWarm, type WarmDemand, type WarmRoom } from "../../../../src/domain/warm/plan-warm.js";

const IDLE_MS = 1_000;
const memory = fc.constantFrom(1, 10, 64, 512);
const demands = fc
  .array(
    fc.record({
      memoryBytes: memory,
      weight: fc.double({ min: 0, max: 100, noNaN: true }),
      burst: fc.double({ min: 0, max: 70, noNaN: true }),
      idleForMs: fc.nat(2 * IDLE_MS),
      present: fc.nat(10),
    }),
    { maxLength: 12 },
  )
  .map((all) => all.map((demand, i): WarmDemand => ({ kind: `k${i}`, ...demand })));
const room = fc.record({ containers: fc.nat(20), memoryBytes: fc.nat(3_000) });

const used = (all: readonly WarmDemand[], plan: ReadonlyMap<string, number>): WarmRoom => ({
  containers: [...plan.values()].reduce((sum, count) => sum + count, 0),
  memoryBytes: all.reduce((sum, { kind, memoryBytes }) => sum + memoryBytes * (plan.get(kind) ?? 0), 0),
});

describe("the plan of warm containers", () => {
  it("never passes its room, in number or memory", () => {
    fc.assert(
      fc.property(demands, room, (all, bound) => {
        const total = used(all, planWarm(all, bound, IDLE_MS));
        expect(total.containers).toBeLessThanOrEqual(bound.containers);
        expect(total.memoryBytes).toBeLessThanOrEqual(bound.memoryBytes);
      }),
    );
  });

  it("has none for the idle, and at most what a burst takes for anybody", () => {
    fc.assert(
      fc.property(demands, room, (all, bound) => {
        const plan = planWarm(all, bound, IDLE_MS);
        for (const { kind, idleForMs, burst } of all) {
          const most = idleForMs >= IDLE_MS ? 0 : Math.max(1, Math.round(burst));
          expect(plan.get(kind) ?? 0).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  it("gives nobody a second while somebody who would fit has no first", () => {
    fc.assert(
      fc.property(demands, room, (all, bound) => {
        const even = all.map((demand) => ({ ...demand, memoryBytes: 64 }));
        const plan = planWarm(even, bound, IDLE_MS);
        const without = even.some(({ kind, idleForMs }) => idleForMs < IDLE_MS && !plan.has(kind));
        if (without) expect([...plan.values()].filter((count) => count > 1)).toEqual([]);
      }),
    );
  });

  it("leaves no room that somebody wants", () => {
    fc.assert(
      fc.property(demands, room, (all, bound) => {
        const plan = planWarm(all, bound, IDLE_MS);
        const total = used(all, plan);
        for (const { kind, idleForMs, burst, memoryBytes } of all) {
          const wants = idleForMs < IDLE_MS && (plan.get(kind) ?? 0) < Math.max(1, Math.round(burst));
          const fits =
            total.containers < bound.containers && total.memoryBytes + memoryBytes <= bound.memoryBytes;
          expect(wants && fits).toBe(false);
        }
      }),
    );
  });

  it("stays as it is once it is carried out, whatever the order of its kinds", () => {
    fc.assert(
      fc.property(demands, room, (all, bound) => {
        const plan = planWarm(all, bound, IDLE_MS);
        const done = all.map((demand) => ({ ...demand, present: plan.get(demand.kind) ?? 0 }));
        expect(planWarm(done.reverse(), bound, IDLE_MS)).toEqual(plan);
      }),
    );
  });

  it("lets a newcomer displace only what is wanted half as much", () => {
    const at = (kind: string, weight: number, present: number): WarmDemand => ({
      kind,
      memoryBytes: 1,
      weight,
      burst: 1,
      idleForMs: 0,
      present,
    });
    const one = { containers: 1, memoryBytes: 10 };
    expect([...planWarm([at("old", 1, 1), at("new", 1.9, 0)], one, IDLE_MS).keys()]).toEqual(["old"]);
    expect([...planWarm([at("old", 1, 1), at("new", 2.1, 0)], one, IDLE_MS).keys()]).toEqual(["new"]);
  });
});
