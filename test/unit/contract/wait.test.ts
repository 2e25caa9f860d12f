import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isIdempotencyKey } from "../../../src/contract/idempotency-key.js";
import { preferredWait, waitQuerySchema } from "../../../src/contract/wait.js";

describe("preferredWait", () => {
  it.each([
    [undefined, null],
    ["respond-async", null],
    ["wait=0", 0],
    ["wait=10", 10],
    ["Wait = 60", 60],
    ["respond-async, wait=7", 7],
    ['wait="5"', 5],
    ["wait=5, wait=9", 5],
    ["waiting=3", null],
    ["", null],
  ])("reads %j as %j", (header, wanted) => {
    expect(preferredWait(header)).toBe(wanted);
  });

  it.each([
    "wait",
    "wait=",
    "wait=61",
    "wait=-1",
    "wait=1.5",
    "wait=1e1",
    "wait=007",
    "wait=0x5",
    "wait=5;x=1",
    "wait=999999999999",
  ])("refuses %j", (header) => {
    expect(preferredWait(header)).toBe("invalid");
  });
});

describe("waitQuerySchema", () => {
  const query = z.strictObject({ wait: waitQuerySchema.optional() });
  it.each(["0", "1", "59", "60"])("takes %s", (wait) => {
    expect(query.parse({ wait })).toEqual({ wait: Number(wait) });
  });
  it.each([["61"], ["-1"], ["1.0"], [""], [" 1"], ["1e1"], ["+1"], ["00"], ["60s"], [["1", "2"]], [5]])(
    "refuses %j",
    (wait) => {
      expect(query.safeParse({ wait }).success).toBe(false);
    },
  );
});

describe("isIdempotencyKey", () => {
  it("takes 1 to 255 visible ASCII characters", () => {
    for (const key of ["a", "!~", "x".repeat(255)]) expect(isIdempotencyKey(key)).toBe(true);
    for (const key of ["", "x".repeat(256), "a b", "é", "a\u007f", "a\n"])
      expect(isIdempotencyKey(key)).toBe(false);
  });
});
