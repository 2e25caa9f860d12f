import fc from "fast-check";
import { expect, it } from "vitest";
import { createStartGate } from "../../../src/app/execute/start-gate.js";

const TENANTS = ["acme", "rival", "third"];

/** What stands at the gate, in the order in which it came. */
const arrivals = fc.array(fc.record({ tenant: fc.constantFrom(...TENANTS), givesUp: fc.boolean() }), {
  minLength: 1,
  maxLength: 40,
});

it("lets nobody wait for more than one of each other tenant at a time, and each tenant's own in their order", async () => {
  await fc.assert(
    fc.asyncProperty(arrivals, fc.integer({ min: 1, max: 4 }), async (comers, atOnce) => {
      const gate = createStartGate(atOnce);
      const fillers = Array.from({ length: atOnce }, () => gate.tryEnter());
      expect(gate.tryEnter()).toBeNull();
      const passed: number[] = [];
      const ways: (() => void)[] = [];
      const waits = comers.map(({ tenant, givesUp }, index) => {
        const leaving = new AbortController();
        const entered = gate.enter(tenant, leaving.signal).then(
          (leave) => {
            passed.push(index);
            ways.push(leave);
          },
          (reason: unknown) => expect(reason).toBe("gone"),
        );
        if (givesUp) leaving.abort("gone");
        return entered;
      });
      for (const leave of fillers) leave?.();
      const stay = comers.flatMap(({ givesUp }, index) => (givesUp ? [] : [index]));
      while (passed.length < stay.length) {
        await Promise.resolve();
        ways.shift()?.();
      }
      await Promise.all(waits);

      expect([...passed].sort((a, b) => a - b)).toEqual(stay);
      const ownerOf = (index: number) => comers[index]?.tenant;
      for (const tenant of TENANTS) {
        const own = passed.filter((index) => ownerOf(index) === tenant);
        expect(own).toEqual([...own].sort((a, b) => a - b));
        // Between two turns of a tenant that waits, every other one had at most one.
        const turns = passed.flatMap((index, turn) => (ownerOf(index) === tenant ? [turn] : []));
        for (const [at, turn] of turns.entries()) {
          const since = passed.slice(at === 0 ? 0 : (turns[at - 1] ?? 0) + 1, turn).map(ownerOf);
          expect(since).toHaveLength(new Set(since).size);
        }
      }
      for (const leave of ways) leave();
      expect(gate.tryEnter()).not.toBeNull();
    }),
  );
});
