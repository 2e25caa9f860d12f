import { useEffect, useState } from "preact/hooks";
import { useApi, usePolled } from "../api/use-api.js";
import type { ApprovalSummaryWire } from "../api/wire.js";
import { type InboxItem, mergeInbox, settleItem } from "./merge-inbox.js";

const EVERY_MS = 2_000;
const PAGE = 50;
/** Listings can be heavy: behind these many pages, older ones wait their turn. */
const MAX_PAGES = 4;

/** The inbox as it stands. */
export interface Inbox {
  readonly items: readonly InboxItem[];
  /** Whether older approvals wait that are not in it. */
  readonly more: boolean;
  readonly loaded: boolean;
  readonly error: unknown;
  settle(approvalId: string): void;
  /** Takes out what does not wait any more. */
  clear(): void;
}

/** Follows what waits for a person. */
export function useInbox(): Inbox {
  const api = useApi();
  const [items, setItems] = useState<readonly InboxItem[]>([]);
  const listing = usePolled("pending", EVERY_MS, async (signal) => {
    const approvals: ApprovalSummaryWire[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const answer: { approvals: ApprovalSummaryWire[]; next_cursor: string | null } = await api.get(
        `/v1/approvals?state=pending&limit=${PAGE}${query}`,
        signal,
      );
      approvals.push(...answer.approvals);
      cursor = answer.next_cursor;
      if (cursor === null) break;
    }
    return { approvals, more: cursor !== null };
  });
  useEffect(() => {
    if (listing.value !== null)
      setItems((shown) => mergeInbox(shown, listing.value ?? { approvals: [], more: true }));
  }, [listing.value]);
  return {
    items,
    more: listing.value?.more ?? false,
    loaded: listing.value !== null,
    error: listing.error,
    settle: (approvalId) => setItems((shown) => settleItem(shown, approvalId)),
    clear: () => setItems((shown) => shown.filter(({ settled }) => !settled)),
  };
}
