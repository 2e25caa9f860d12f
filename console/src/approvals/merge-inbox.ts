import type { ApprovalSummaryWire } from "../api/wire.js";

/** One approval in the inbox. */
export interface InboxItem {
  readonly approval: ApprovalSummaryWire;
  /** It does not wait any more: it stays where it was, so that nothing moves under a finger, until the reader clears it. */
  readonly settled: boolean;
}

/** What a listing says: pending approvals, newest first. */
export interface PendingListing {
  readonly approvals: readonly ApprovalSummaryWire[];
  /** Whether older ones wait that are not in it. */
  readonly more: boolean;
}

/**
 * Brings the inbox up to date without moving what is in it: what is shown keeps its place, what is new comes in behind it, oldest
 * first, and what is settled by now is marked. Of what lies outside of the listing nothing is said.
 */
export function mergeInbox(shown: readonly InboxItem[], listing: PendingListing): readonly InboxItem[] {
  const pending = new Map(listing.approvals.map((approval) => [approval.approval_id, approval]));
  const oldest = listing.approvals.at(-1)?.created_at;
  const isCovered = (approval: ApprovalSummaryWire) =>
    !listing.more || (oldest !== undefined && approval.created_at > oldest);
  const kept = shown.map((item) => {
    const current = pending.get(item.approval.approval_id);
    if (current !== undefined) return { approval: current, settled: false };
    return item.settled || isCovered(item.approval) ? { ...item, settled: true } : item;
  });
  const known = new Set(shown.map(({ approval }) => approval.approval_id));
  const fresh = listing.approvals
    .filter(({ approval_id }) => !known.has(approval_id))
    .toReversed()
    .map((approval) => ({ approval, settled: false }));
  return [...kept, ...fresh];
}

/** Marks one as settled by the reader's own decision, without waiting for the next listing. */
export function settleItem(shown: readonly InboxItem[], approvalId: string): readonly InboxItem[] {
  return shown.map((item) => (item.approval.approval_id === approvalId ? { ...item, settled: true } : item));
}

/** Where the selection goes: `step` items on, ending at either end; the first where nothing is selected. */
export function selectionAfter(
  shown: readonly InboxItem[],
  selectedId: string | null,
  step: number,
): string | null {
  if (shown.length === 0) return null;
  const at = shown.findIndex(({ approval }) => approval.approval_id === selectedId);
  const next = at === -1 ? 0 : Math.min(shown.length - 1, Math.max(0, at + step));
  return shown[next]?.approval.approval_id ?? null;
}

/** The next one behind this that still waits, or one before it; null where none does. */
export function nextWaiting(shown: readonly InboxItem[], settledId: string): string | null {
  const at = shown.findIndex(({ approval }) => approval.approval_id === settledId);
  const waits = (item: InboxItem) => !item.settled && item.approval.approval_id !== settledId;
  const next = shown.slice(at + 1).find(waits) ?? shown.slice(0, Math.max(0, at)).findLast(waits);
  return next?.approval.approval_id ?? null;
}
