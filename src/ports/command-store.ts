import type { CommandRecord, CommandResult, CommandState } from "../domain/command.js";
import type { Label } from "../domain/data-flow/label.js";
import type { BudgetUsage, Quotas } from "../domain/decision/budget-state.js";

/** What a submit asks the store to admit, atomically with quotas, grant and idempotency. */
export interface Admission {
  /** `queued`, `awaiting_approval`, or `finished` for a denial that leaves evidence. */
  readonly record: CommandRecord;
  readonly idempotency: { readonly key: string; readonly bodyHash: string } | null;
  readonly quotas: AdmissionQuotas;
  /** The version of the session that the decision saw; null admits under any. */
  readonly sessionVersion: number | null;
  /** How long a person may take, and the dispatch behind it; needed where the record has an approval. */
  readonly approvalExpiryMs?: number;
  /** Whether this process is about to wait for the end: then the store may send it here, in place of news to read after. */
  readonly isAwaited?: boolean;
}

/** Bounds the admission checks and reserves. Rates and counts are per tenant unless named otherwise. */
export interface AdmissionQuotas extends Quotas {
  /** Relative share of the tenant in fair queueing; above 0. */
  readonly tenantWeight: number;
}

/** What can be full: a quota of the tenant or the service, or what the session's own budget says of counts. */
export type FullQuota = keyof Quotas | "sessionConcurrent";

/** The store's answer to an admission. Only `admitted` created anything. */
export type AdmissionAnswer =
  | { readonly kind: "admitted"; readonly priority: number }
  | { readonly kind: "duplicate"; readonly commandId: string }
  /** The same request waits for a person already: that command stands for this one too. */
  | { readonly kind: "joined"; readonly commandId: string }
  | { readonly kind: "idempotency_mismatch" }
  | { readonly kind: "session_gone" }
  /** What the decision depended on is no longer so, or less is left than the command's charge: decide again. */
  | { readonly kind: "session_changed" }
  | { readonly kind: "budget_changed" }
  | { readonly kind: "grant_exhausted" }
  /** Nothing is left of what the session may use in all. */
  | { readonly kind: "budget_exhausted"; readonly budget: "wall" | "cpu" }
  | {
      readonly kind: "quota";
      readonly quota: FullQuota;
      readonly limit: number;
      readonly retryAfterMs: number;
    };

/** A worker's wish to dispatch a command into a container it has made ready. */
export interface Claim {
  readonly commandId: string;
  readonly workerId: string;
  readonly fence: string;
  readonly containerId: string;
  /** What the re-check saw: the claim is refused when the session is another one by now. Null claims under any. */
  readonly seen: { readonly sessionVersion: number; readonly label: Label } | null;
}

/** The answer to a claim. Only `claimed` permits argv to be sent. */
export type ClaimAnswer =
  | { readonly kind: "claimed"; readonly fence: string; readonly record: CommandRecord }
  | { readonly kind: "not_queued"; readonly state: CommandRecord["state"] | "missing" }
  | { readonly kind: "session_changed" }
  | { readonly kind: "no_lease" };

/** The answer to a cancel. */
export type CancelAnswer = "never_started" | "requested" | "already_finished" | "missing";

/** One page of a listing, newest first. */
export interface CommandPage {
  readonly records: readonly CommandRecord[];
  readonly nextCursor: string | null;
}

/** Redis is down, read-only, out of memory or did not answer; nothing is known to have changed unless said. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/**
 * The truth about commands. Every change is one atomic script that checks state and fence.
 * What it writes and compares after the admission is by the store's own clock, never by that of the process that asks.
 * Rejects with StoreUnavailable; never guesses.
 */
export interface CommandStore {
  admit(admission: Admission): Promise<AdmissionAnswer>;
  get(commandId: string): Promise<CommandRecord | null>;
  /** What counts against the quotas of a tenant and one of its sessions now; reserves nothing. */
  usage(tenant: string, sessionId: string): Promise<BudgetUsage>;
  /** How many commands of the whole deployment stand in each state before the last. */
  counts(): Promise<Readonly<Record<Exclude<CommandState, "finished">, number>>>;
  /** Its results are without `output`, which only `get` and `waitForEnd` load. A page can be short though more follow. */
  list(query: {
    readonly tenant: string;
    readonly sessionId: string | null;
    readonly state: CommandRecord["state"] | null;
    readonly limit: number;
    readonly cursor: string | null;
  }): Promise<CommandPage>;
  /**
   * Compare-and-set `queued → dispatched` under a fresh fence, naming the container that will get the argv;
   * consumes the grant's dispatch. Idempotent on the fence: after a StoreUnavailable, claim again under the same fence,
   * or give it back. Refused while the worker holds no lease: nothing could tell that it died.
   */
  claim(claim: Claim): Promise<ClaimAnswer>;
  /**
   * `dispatched → queued` by the fence's holder, only before argv was sent; idempotent on the fence.
   * False when the fence is not ours; a claim under it that is still on its way is then refused.
   */
  giveBack(commandId: string, fence: string): Promise<boolean>;
  /** `dispatched → finished` by the fence's holder; idempotent on the fence. False when somebody else ended it: the verdict stands. */
  finish(commandId: string, fence: string, result: CommandResult): Promise<boolean>;
  /** The end of a command that never started (`queued` or `awaiting_approval`). False when it was neither. */
  endUnstarted(commandId: string, result: CommandResult): Promise<boolean>;
  /** Takes commands whose retention is over out of the listings. To be called now and then; answers how many it took out. */
  trim(): Promise<number>;
  /** Atomic against dispatch: ends it unstarted, or sets the flag and tells the worker. */
  requestCancel(commandId: string, unstartedResult: CommandResult): Promise<CancelAnswer>;
  /**
   * Resolves with the record once finished, or with what it is when the time is over. Shares one subscription.
   * With `known`, the command as it stands now, nothing is read before there is news: to be called before anybody can end it.
   */
  waitForEnd(
    commandId: string,
    waitMs: number,
    signal: AbortSignal,
    known?: CommandRecord,
  ): Promise<CommandRecord | null>;
}

/** Tells a worker that a command it holds is to be cancelled. */
export interface CancelFeed {
  /** Calls `onCancel` for each cancel request; also to be checked once after a claim, from the record. */
  subscribe(onCancel: (commandId: string) => void): Promise<() => Promise<void>>;
}

/** A dispatched command that nobody may be about to end: its worker holds no lease, or was to have ended it long ago. */
export interface Orphan {
  readonly record: CommandRecord;
  /** The engine its worker used; null when not known. */
  readonly engineId: string | null;
  /** How long ago it was dispatched. */
  readonly dispatchedForMs: number;
  /** Its worker lives, and does not know of it any more: what it wrote was lost behind its back. */
  readonly isOverdue: boolean;
}

/** What a worker says of itself with each renewal of its lease. */
export interface WorkerStatus {
  readonly host: string;
  readonly pools: readonly string[];
  /** Commands of each pool that it runs at once. */
  readonly concurrency: number;
  /** Commands it holds. */
  readonly running: number;
  /** Containers that are ready for commands to come. */
  readonly warmContainers: number;
  /** It ends, and takes no more commands. */
  readonly isDraining: boolean;
}

/** A worker as its latest renewal left it. */
export interface SeenWorker {
  readonly workerId: string;
  readonly status: WorkerStatus;
  readonly startedAtMs: number;
  readonly renewedAtMs: number;
  /** False when it has not been heard of for the length of its lease. */
  readonly holdsLease: boolean;
}

/** Which worker instances live, and which commands a dead one left: by the store's clock alone, so that hosts may disagree. */
export interface LeaseStore {
  /** Renew this worker's lease. `engineId` names the engine that holds its containers. */
  heartbeat(lease: {
    readonly workerId: string;
    readonly engineId: string;
    readonly leaseMs: number;
    readonly status: WorkerStatus;
  }): Promise<void>;
  /** Remove this worker's lease at an orderly end. */
  leave(workerId: string): Promise<void>;
  isAlive(workerId: string): Promise<boolean>;
  /** At most so many workers, the latest renewed first; those that ended in order are not among them. */
  workers(limit: number): Promise<readonly SeenWorker[]>;
  /** Engines of the workers that hold a lease. */
  liveEngines(): Promise<ReadonlySet<string>>;
  /** Those of workers without a lease, and, of any worker, those dispatched longer than `overdueMs` ago. */
  orphaned(limit: number, overdueMs?: number): Promise<readonly Orphan[]>;
  /** Queued records with no envelope in the queue (an add that was lost, a flushed queue). */
  unqueued(olderThanMs: number, limit: number): Promise<readonly CommandRecord[]>;
  /** `dispatched → finished` as lost, whoever holds the fence, only while it is an orphan by the same measure. */
  declareLost(commandId: string, fence: string, result: CommandResult, overdueMs?: number): Promise<boolean>;
  /** One leader among all processes for a bounded time; true when this one is it. */
  lead(role: string, holder: string, leaseMs: number): Promise<boolean>;
}
