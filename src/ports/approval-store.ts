import type { ApprovalState } from "../domain/approval/approval.js";
import type { CommandResult } from "../domain/command.js";
import type { CommandPage } from "./command-store.js";

/** A person's word on one command. */
export interface ApprovalDecision {
  readonly commandId: string;
  readonly tenant: string;
  readonly decision: "approve" | "deny";
  /** Who decides. */
  readonly principalId: string;
  readonly note: string | null;
  /** Whether one who asked for the command may approve it. */
  readonly allowSelf: boolean;
  /** The tenant's share in fair queueing, and its bound on commands in flight; null is none. */
  readonly tenantWeight: number;
  readonly tenantConcurrent: number | null;
  /** The end of a command that is denied. */
  readonly deniedResult: CommandResult;
}

/** The answer to a decision. Only `approved` and `denied` changed what stands. */
export type ApprovalAnswer =
  | { readonly kind: "approved"; readonly priority: number }
  | { readonly kind: "denied" }
  /** Somebody or something was first. */
  | { readonly kind: "settled"; readonly state: ApprovalState }
  | { readonly kind: "own" }
  | { readonly kind: "missing" }
  | {
      readonly kind: "quota";
      readonly quota: "tenantConcurrent" | "sessionConcurrent";
      readonly limit: number;
      readonly retryAfterMs: number;
    };

/**
 * Approvals, which are part of their command's record. A decision, a cancel, the end of its time and the dispatch are each one
 * atomic script over the same record: the first one stands. Times are by the store's clock. Rejects with StoreUnavailable.
 */
export interface ApprovalStore {
  /** Commands of which a person was asked, newest first. */
  list(query: {
    readonly tenant: string;
    readonly state: ApprovalState | null;
    readonly limit: number;
    readonly cursor: string | null;
  }): Promise<CommandPage>;
  decide(decision: ApprovalDecision): Promise<ApprovalAnswer>;
  /** Commands whose approval's time is over and which have not ended. */
  due(limit: number): Promise<readonly string[]>;
  /** Ends it as expired if its time is over; false when not, or when it is settled. */
  expire(commandId: string): Promise<boolean>;
}
