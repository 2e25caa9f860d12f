import { describe, expect, it } from "vitest";
import type { ApprovalSummaryWire } from "../../../console/src/api/wire.js";
import {
  type InboxItem,
  mergeInbox,
  nextWaiting,
  selectionAfter,
  settleItem,
} from "../../../console/src/approvals/merge-inbox.js";

const approval = (id: string, second: number): ApprovalSummaryWire => ({
  approval_id: id,
  state: "pending",
  command_id: id,
  session_id: "ses",
  workspace_id: "w",
  requested_by: "agent",
  created_at: `2026-01-01T00:00:${String(second).padStart(2, "0")}.000Z`,
  expires_at: null,
  decided_by: null,
  decided_at: null,
  note: null,
  binding_sha256: "",
  files: [],
  cwd: ".",
  timeout_s: 1,
  profile: "default",
  image_digest: "",
  label: null,
  reason: null,
  argv: ["ls"],
  rendering: null,
});
const ids = (items: readonly InboxItem[]) =>
  items.map((item) => `${item.approval.approval_id}${item.settled ? "!" : ""}`);
const [one, two, three, four] = [approval("1", 1), approval("2", 2), approval("3", 3), approval("4", 4)];

describe("the inbox", () => {
  const first = mergeInbox([], { approvals: [two, one], more: false });

  it("shows the oldest first, and what comes later behind it", () => {
    expect(ids(first)).toEqual(["1", "2"]);
    expect(ids(mergeInbox(first, { approvals: [four, three, two, one], more: false }))).toEqual([
      "1",
      "2",
      "3",
      "4",
    ]);
  });

  it("moves nothing that is shown: what is settled stays in its place, and stays settled", () => {
    const later = mergeInbox(first, { approvals: [three, two], more: false });
    expect(ids(later)).toEqual(["1!", "2", "3"]);
    expect(ids(mergeInbox(later, { approvals: [], more: false }))).toEqual(["1!", "2!", "3!"]);
    expect(ids(settleItem(first, "2"))).toEqual(["1", "2!"]);
  });

  it("says nothing of what lies behind the listed pages", () => {
    expect(ids(mergeInbox(first, { approvals: [four, three], more: true }))).toEqual(["1", "2", "3", "4"]);
    const all = mergeInbox(first, { approvals: [four, three, two, one], more: false });
    expect(ids(mergeInbox(all, { approvals: [four, two], more: true }))).toEqual(["1", "2", "3!", "4"]);
  });

  it("moves the selection to either end and no further", () => {
    expect(selectionAfter(first, null, 1)).toBe("1");
    expect(selectionAfter(first, "1", 1)).toBe("2");
    expect(selectionAfter(first, "2", 1)).toBe("2");
    expect(selectionAfter(first, "2", -5)).toBe("1");
    expect(selectionAfter([], "2", 1)).toBeNull();
  });

  it("finds the next that waits, or else one before", () => {
    const settled = settleItem(mergeInbox([], { approvals: [four, three, two, one], more: false }), "3");
    expect(nextWaiting(settled, "2")).toBe("4");
    expect(nextWaiting(settled, "4")).toBe("2");
    expect(nextWaiting(settleItem(first, "1"), "2")).toBeNull();
  });
});
