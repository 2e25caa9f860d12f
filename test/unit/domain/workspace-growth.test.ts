import { describe, expect, it } from "vitest";
import { outgrows, refusesCommands } from "../../../src/domain/workspace-growth.js";

const limits = { bytes: 1_000, inodes: 100 };
const use = (bytes: number, inodes = 1) => ({ bytes, inodes });

describe("a running command", () => {
  it.each([
    ["within the limits", use(10), use(1_000, 100), null],
    ["past the bytes", use(10), use(1_001), "workspace_bytes"],
    ["past the entries", use(10), use(10, 101), "workspace_inodes"],
    ["that was over already and did not grow", use(1_100), use(1_100), null],
    ["that was over already and shrank", use(1_100), use(1_050), null],
    ["that was over already and grew", use(1_100), use(1_101), "workspace_bytes"],
    ["at the first look", null, use(1_200), null],
    ["far over at the first look", null, use(1_251), "workspace_bytes"],
    ["far over that shrank", use(2_000), use(1_300), "workspace_bytes"],
    ["far over in entries", null, use(1, 126), "workspace_inodes"],
  ])("in a workspace %s", (_, before, now, excess) => {
    expect(outgrows(before, now, limits)).toBe(excess);
  });
});

it("a workspace refuses commands only when it is known to be far over a limit", () => {
  expect(refusesCommands(null, limits)).toBeNull();
  expect(refusesCommands(use(1_250, 125), limits)).toBeNull();
  expect(refusesCommands(use(1_251), limits)).toBe("workspace_bytes");
  expect(refusesCommands(use(1, 126), limits)).toBe("workspace_inodes");
});
