import { describe, expect, it } from "vitest";
import { createRandomIdSource } from "../../../../src/adapters/system/random-id-source.js";
import { createSystemClock } from "../../../../src/adapters/system/system-clock.js";
import { isId } from "../../../../src/domain/ids.js";

describe("ids", () => {
  it("have the shape of their kind, never repeat and sort by time", () => {
    let nowMs = Date.UTC(2030, 0, 1);
    const ids = createRandomIdSource({ nowMs: () => nowMs++ });
    const made = Array.from({ length: 1000 }, () => ids.next("cmd"));
    expect(made.every((id) => isId("cmd", id))).toBe(true);
    expect(new Set(made).size).toBe(made.length);
    expect([...made].sort()).toEqual(made);
  });

  it("of one millisecond differ", () => {
    const ids = createRandomIdSource({ nowMs: () => 0 });
    expect(new Set(Array.from({ length: 1000 }, () => ids.next("ses"))).size).toBe(1000);
  });
});

describe("the system clock", () => {
  it("is the host's", () => {
    const before = Date.now();
    const now = createSystemClock().nowMs();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });
});
