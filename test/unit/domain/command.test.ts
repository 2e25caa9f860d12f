import { expect, test } from "vitest";
import type { CommandState, Transition } from "../../../src/domain/command.js";
import { stateAfter, TRANSITIONS } from "../../../src/domain/command.js";
import { formatId, isId, isName } from "../../../src/domain/ids.js";
import { DEFAULT_SERVICE_LIMITS, limitContradictions } from "../../../src/domain/limits.js";

const STATES: CommandState[] = ["awaiting_approval", "queued", "dispatched", "finished"];

test("the life cycle is exactly this table", () => {
  const table = Object.fromEntries(
    (Object.keys(TRANSITIONS) as Transition[]).map((transition) => [
      transition,
      STATES.map((state) => stateAfter(state, transition)),
    ]),
  );
  expect(table).toEqual({
    approve: ["queued", null, null, null],
    dispatch: [null, "dispatched", null, null],
    finish: [null, null, "finished", null],
    end_unstarted: ["finished", "finished", null, null],
    give_back: [null, null, "queued", null],
  });
});

test("nothing leaves finished", () => {
  for (const transition of Object.keys(TRANSITIONS) as Transition[]) {
    expect(stateAfter("finished", transition)).toBeNull();
  }
});

test("ids have a fixed shape, sort by time and are told apart by kind", () => {
  const early = formatId("cmd", 1_700_000_000_000, new Uint8Array(10).fill(255));
  const late = formatId("cmd", 1_700_000_000_001, new Uint8Array(10));
  expect(early < late).toBe(true);
  expect(isId("cmd", early)).toBe(true);
  expect(isId("ses", early)).toBe(false);
  for (const wrong of ["cmd_", "cmd_../../x", `${early}x`, early.toUpperCase(), ""])
    expect(isId("cmd", wrong)).toBe(false);
});

test("names are safe as one path component", () => {
  for (const good of ["a", "team-1", "0_x", "a".repeat(63)]) expect(isName(good)).toBe(true);
  for (const bad of ["", ".", "..", "a/b", "A", "-a", "a".repeat(64), "a\n", "é"])
    expect(isName(bad)).toBe(false);
});

test("contradictions between limits are named", () => {
  expect(limitContradictions(DEFAULT_SERVICE_LIMITS)).toEqual([]);
  const wrong = {
    ...DEFAULT_SERVICE_LIMITS,
    streamCaptureBytes: DEFAULT_SERVICE_LIMITS.streamHardBytes + 1,
    graceMs: 0,
  };
  expect(limitContradictions(wrong)).toEqual([
    "graceMs must be a whole number above 0",
    expect.stringContaining("streamCaptureBytes"),
  ]);
});
