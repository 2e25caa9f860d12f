import fc from "fast-check";
import { expect, test } from "vitest";
import { type DemandTrack, demandAt, withCommand } from "../../../../src/domain/warm/warm-demand.js";

const START_MS = 300;
const after = (timesMs: readonly number[]): DemandTrack =>
  timesMs.reduce<DemandTrack | null>((track, at) => withCommand(track, at, START_MS), null) ??
  withCommand(null, 0, START_MS);

test("a burst is as large as the commands that came within one start, and halves with each minute", () => {
  const track = after([0, 100, 200, 299]);
  expect(demandAt(track, 299).burst).toBe(4);
  expect(demandAt(track, 60_299).burst).toBeCloseTo(2);
  expect(demandAt(after([0, 300, 600]), 600).burst).toBeLessThanOrEqual(1);
});

test("weight is the number of commands, the older ones counting less", () => {
  expect(demandAt(after([0, 60_000]), 60_000).weight).toBeCloseTo(1.5);
  expect(demandAt(after([0, 60_000]), 120_000)).toMatchObject({ idleForMs: 60_000 });
});

test("whatever the times, also backward ones, demand is finite, bounded and keeps a bounded past", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 1, maxLength: 200 }),
      (times) => {
        const track = after(times);
        const { weight, burst, idleForMs } = demandAt(track, times.at(-1) ?? 0);
        expect(track.recentMs.length).toBeLessThanOrEqual(64);
        expect(burst).toBeLessThanOrEqual(64);
        expect(weight).toBeGreaterThanOrEqual(1);
        expect(weight).toBeLessThanOrEqual(times.length);
        expect(idleForMs).toBe(0);
      },
    ),
  );
});
