import { useEffect, useRef } from "preact/hooks";
import { useApi } from "../api/use-api.js";
import { Badge } from "../shell/badge.js";
import { Fault, NeedsScope } from "../shell/fault.js";
import { goTo, linkTo, readRoute } from "../shell/route.js";
import { useKeys } from "../shell/use-keys.js";
import { spanText } from "../text/quantity-text.js";
import { Name, Rendered } from "../text/quoted.js";
import { useNow } from "../text/use-now.js";
import { ApprovalDetail } from "./approval-detail.js";
import { type InboxItem, nextWaiting, selectionAfter } from "./merge-inbox.js";
import { type Inbox, useInbox } from "./use-inbox.js";

/** The inbox: what waits for a person on the left, the one looked at on the right. */
export function ApprovalsPage(props: { readonly id: string | null; announce(words: string): void }) {
  const api = useApi();
  if (!api.may("approvals:read")) return <NeedsScope scope="approvals:read" what="The inbox" />;
  return <InboxView {...props} />;
}

function InboxView(props: { readonly id: string | null; announce(words: string): void }) {
  const inbox = useInbox();
  const { id } = props;
  const { items } = inbox;
  const waiting = items.filter(({ settled }) => !settled).length;

  const select = (next: string | null, isStep = true) => {
    if (next !== null) goTo(linkTo("approvals", next), isStep);
  };
  // Nothing is selected by itself on a narrow screen: there, the list is a page of its own.
  const first = items[0]?.approval.approval_id ?? null;
  useEffect(() => {
    // The address may have gone on to another page, which is not shown yet.
    const isHere = readRoute(location.hash).page === "approvals";
    if (isHere && id === null && first !== null && matchMedia("(min-width: 60rem)").matches) select(first);
  }, [id, first]);

  useKeys({
    j: () => select(selectionAfter(items, id, 1)),
    k: () => select(selectionAfter(items, id, -1)),
    n: () => select(id === null ? first : nextWaiting(items, id)),
    c: inbox.clear,
  });

  return (
    <div class={id === null ? "inbox" : "inbox inbox-open"}>
      <section class="inbox-list" aria-labelledby="inbox-title">
        <header class="list-head">
          <h1 id="inbox-title">Approvals</h1>
          <span class="muted small">{inbox.loaded ? `${waiting} waiting` : "…"}</span>
          {items.length > waiting && (
            <button type="button" class="link small" onClick={inbox.clear}>
              Clear settled <kbd>c</kbd>
            </button>
          )}
        </header>
        <Fault error={inbox.error} />
        <List inbox={inbox} selectedId={id} select={(next) => select(next, false)} />
        {inbox.more && <p class="warn small">Older ones wait too; they come in as these are settled.</p>}
        {inbox.loaded && items.length === 0 && (
          <div class="empty">
            <h2>Nothing waits for you</h2>
            <p>A command that policy asks about appears here by itself.</p>
          </div>
        )}
      </section>
      {id === null ? (
        items.length > 0 && <section class="detail detail-none" />
      ) : (
        <div class="inbox-detail">
          <a class="back" href={linkTo("approvals")}>
            ← All approvals
          </a>
          <ApprovalDetail id={id} onSettled={inbox.settle} announce={props.announce} />
        </div>
      )}
    </div>
  );
}

/** One stop of the tab key: arrows, j and k move within. */
function List(props: {
  readonly inbox: Inbox;
  readonly selectedId: string | null;
  select(id: string): void;
}) {
  const { selectedId } = props;
  const { items } = props.inbox;
  const nowMs = useNow();
  const list = useRef<HTMLUListElement>(null);
  const hasSelected = items.some(({ approval }) => approval.approval_id === selectedId);

  // The focus follows the selection while it is in the list, and what is selected is in view.
  useEffect(() => {
    const link = list.current?.querySelector<HTMLElement>('[aria-current="true"]');
    link?.scrollIntoView({ block: "nearest" });
    if (list.current?.contains(document.activeElement)) link?.focus();
  }, [selectedId]);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -items.length, End: items.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = selectionAfter(items, selectedId, step);
    if (next !== null) props.select(next);
  };
  return (
    <ul class="items" ref={list} onKeyDown={onKeyDown}>
      {items.map((item, index) => (
        <Item
          key={item.approval.approval_id}
          item={item}
          nowMs={nowMs}
          isSelected={item.approval.approval_id === selectedId}
          isStop={hasSelected ? item.approval.approval_id === selectedId : index === 0}
        />
      ))}
    </ul>
  );
}

function Item(props: {
  readonly item: InboxItem;
  readonly nowMs: number;
  readonly isSelected: boolean;
  readonly isStop: boolean;
}) {
  const { approval, settled } = props.item;
  const leftMs = approval.expires_at === null ? null : Date.parse(approval.expires_at) - props.nowMs;
  const marked = approval.rendering?.notes.some(({ marks }) => marks.length > 0) ?? true;
  return (
    <li>
      <a
        class={`item${settled ? " item-settled" : ""}`}
        href={linkTo("approvals", approval.approval_id)}
        aria-current={props.isSelected ? "true" : undefined}
        tabIndex={props.isStop ? 0 : -1}
      >
        <span class="item-argv">
          {approval.rendering === null ? (
            <span class="muted">a very long argv: open it</span>
          ) : (
            <Rendered text={approval.rendering.argv_summary} />
          )}
        </span>
        <span class="item-line">
          <Name text={approval.requested_by} />
          <span aria-hidden="true">·</span>
          <span>{approval.rendering === null ? "many" : approval.rendering.tokens} tokens</span>
          {marked && <Badge word="look closely" tone="wait" />}
          <span class="item-time">
            {settled ? "settled" : leftMs === null ? "" : leftMs <= 0 ? "expired" : spanText(leftMs)}
          </span>
        </span>
      </a>
    </li>
  );
}
