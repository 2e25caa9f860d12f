import type { ApprovalSummaryWire, ApprovalWire } from "../contract/approvals.js";
import { pause } from "./bounded-time.js";
import { itemsOf } from "./pages.js";
import { segmentOf } from "./path-segment.js";
import type { CallOptions, Transport } from "./transport.js";
import type { ApprovalPage, ApprovalQuery } from "./wire.js";

/** Of a decision. */
export interface DecisionOptions extends CallOptions {
  /** Kept with the approval. */
  readonly note?: string | undefined;
}

/** Of a watch. */
export interface WatchOptions extends Pick<CallOptions, "signal" | "attempts"> {
  /** Between two looks; 2,000 unless told. */
  readonly everyMs?: number | undefined;
}

/** A reviewer's side of the service. */
export interface Approvals {
  /** Every approval that fits, newest first, page after page. */
  list(query?: ApprovalQuery, options?: CallOptions): AsyncIterable<ApprovalSummaryWire>;
  /** One page of them. */
  page(query?: ApprovalQuery, options?: CallOptions): Promise<ApprovalPage>;
  /** Everything that a decision needs. */
  get(approvalId: string, options?: CallOptions): Promise<ApprovalWire>;
  /** Says yes to exactly this request, once. Never repeated: after NoAnswer, look at the approval. */
  approve(approvalId: string, options?: DecisionOptions): Promise<ApprovalWire>;
  /** Says no: the command ends and never starts. Never repeated, as `approve`. */
  deny(approvalId: string, options?: DecisionOptions): Promise<ApprovalWire>;
  /** Each approval that comes to wait for a person, once, oldest first. Ends only with its signal or with the loop that reads it. */
  watch(options?: WatchOptions): AsyncIterable<ApprovalWire>;
}

const WATCH_MS = 2_000;
const PAGE = 200;

const pathOf = (approvalId: string) => `/v1/approvals/${segmentOf(approvalId)}`;

/** The approvals of one service. */
export function createApprovals(transport: Transport): Approvals {
  const page: Approvals["page"] = async (query = {}, options) =>
    (await transport.json(
      { method: "GET", path: "/v1/approvals", query, repeatable: true },
      options,
    )) as ApprovalPage;
  const get: Approvals["get"] = async (approvalId, options) =>
    (await transport.json(
      { method: "GET", path: pathOf(approvalId), repeatable: true },
      options,
    )) as ApprovalWire;
  const list: Approvals["list"] = (query = {}, options) =>
    itemsOf(
      (cursor) => page({ ...query, cursor }, options),
      ({ approvals }) => approvals,
      query.cursor,
    );
  const decide = async (decision: "approve" | "deny", approvalId: string, options: DecisionOptions) => {
    const { note } = options;
    const body = { decision, ...(note === undefined ? {} : { note }) };
    const request = { method: "POST", path: `${pathOf(approvalId)}/decision`, body, repeatable: false };
    return (await transport.json(request, options)) as ApprovalWire;
  };

  return {
    page,
    get,
    list,
    approve: (approvalId, options = {}) => decide("approve", approvalId, options),
    deny: (approvalId, options = {}) => decide("deny", approvalId, options),
    async *watch(options = {}) {
      let seen = new Set<string>();
      for (;;) {
        const pending: string[] = [];
        for await (const one of list({ state: "pending", limit: PAGE }, options))
          pending.push(one.approval_id);
        for (const id of pending.toReversed()) if (!seen.has(id)) yield await get(id, options);
        seen = new Set(pending);
        await pause(options.everyMs ?? WATCH_MS, options.signal);
      }
    },
  };
}
