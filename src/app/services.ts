import type { ApprovalState } from "../domain/approval/approval.js";
import type { ArchiveReceipt } from "../domain/archive/archive-terms.js";
import type { CommandRecord, CommandState } from "../domain/command.js";
import type { CommandEvent } from "../domain/command-events.js";
import type { Label } from "../domain/data-flow/label.js";
import type { Decision } from "../domain/decision/decision.js";
import type { SessionGrant } from "../domain/decision/grant.js";
import type { SessionBudget } from "../domain/decision/session-budget.js";
import type { Session, Workspace } from "../domain/session.js";
import type { SessionWebhook } from "../domain/webhook/webhook.js";
import type { Principal } from "../ports/authenticator.js";
import type { CommandPage } from "../ports/command-store.js";
import type { EvidenceServices } from "./evidence/evidence-services.js";
import type { FleetServices } from "./worker-services.js";

/** A submit after schema validation: units and defaults of the wire are already applied. */
export interface Submission {
  readonly argv: readonly string[];
  readonly timeoutMs: number;
  readonly maxStdoutChars: number;
  readonly maxStderrChars: number;
  readonly sourceObjects: readonly string[];
  readonly reason: string | null;
}

/** What a caller says of a source object; the words are the policy's. */
export interface LabelWords {
  readonly sensitivity: string;
  readonly trust: string;
  readonly categories: readonly string[];
}

/** Something the agent read, with what is known about it. */
export interface SourceObject {
  readonly objectId: string;
  readonly label: Label;
}

/** An archive that a caller sends. */
export interface ArchiveSource {
  /** As its sender says; null where it does not. */
  readonly declaredBytes: number | null;
  /** Begins to read it; what comes in ends with an error once the signal is aborted. Not called twice. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** An archive that goes to a caller. */
export interface OutgoingArchive {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Aborted once it must be over, which whoever passes it on has to see to: a slow reader holds `chunks` back without end. */
  readonly until: AbortSignal;
}

/** How a submit is to be answered. `bodyHash` is the SHA-256 of the canonical JSON of the body. */
export interface SubmitOptions {
  readonly idempotency: { readonly key: string; readonly bodyHash: string } | null;
  readonly waitMs: number;
  readonly traceparent: string | null;
  /** Aborted when the client goes away: ends the wait, never the command. */
  readonly signal: AbortSignal;
}

/** A new session, with what is said of it only once. */
export interface CreatedSession {
  readonly session: Session;
  /** Verifies the signatures of its webhook; null where it has none. */
  readonly webhookSecret: string | null;
}

/**
 * Starts a stream of events: calls `onEvent` for each in order, then `onEnd` once, when the last has been told, the command's
 * record is gone or the signal was aborted.
 */
export type FollowEvents = (onEvent: (event: CommandEvent) => void, onEnd: () => void) => void;

/**
 * What the edges (HTTP, MCP) may ask of Bailiff. Every method checks scope and tenant itself and throws BailiffError;
 * another tenant's things are `not_found`.
 */
export interface BailiffServices extends EvidenceServices, FleetServices {
  putWorkspace(
    principal: Principal,
    workspaceId: string,
  ): Promise<{ workspace: Workspace; created: boolean }>;
  getWorkspace(principal: Principal, workspaceId: string): Promise<Workspace>;
  deleteWorkspace(principal: Principal, workspaceId: string): Promise<void>;
  /** Throws `invalid_request`, `payload_too_large` or `conflict`, with the `entry` where it is one's, for what is not taken. */
  receiveArchive(
    principal: Principal,
    workspaceId: string,
    source: ArchiveSource,
    signal: AbortSignal,
  ): Promise<ArchiveReceipt>;
  /** The workspace's files as a tar stream; it ends with an error where it can't be whole, or once the signal is aborted. */
  sendArchive(principal: Principal, workspaceId: string, signal: AbortSignal): Promise<OutgoingArchive>;
  createSession(
    principal: Principal,
    wanted: {
      readonly workspaceId: string;
      readonly profile: string | null;
      readonly grant: SessionGrant | null;
      readonly budget: SessionBudget | null;
      readonly webhook: SessionWebhook | null;
    },
  ): Promise<CreatedSession>;
  getSession(principal: Principal, sessionId: string): Promise<Session>;
  listSessions(
    principal: Principal,
    limit: number,
    cursor: string | null,
  ): Promise<{ sessions: readonly Session[]; nextCursor: string | null }>;
  deleteSession(principal: Principal, sessionId: string): Promise<void>;
  /** Revokes the grant at once. The session stays to be read, and what it has queued ends denied. */
  revokeSession(principal: Principal, sessionId: string): Promise<Session>;
  /** Throws `conflict` for an attempt to lower a label, which stays. */
  putSourceObject(
    principal: Principal,
    sessionId: string,
    objectId: string,
    words: LabelWords,
  ): Promise<SourceObject & { readonly created: boolean }>;
  getSourceObject(principal: Principal, sessionId: string, objectId: string): Promise<SourceObject>;
  setCwd(principal: Principal, sessionId: string, path: string): Promise<Session>;
  /** Throws BailiffError `denied` with the decision for a denial. */
  submitCommand(
    principal: Principal,
    sessionId: string,
    submission: Submission,
    options: SubmitOptions,
  ): Promise<{ record: CommandRecord; duplicate: boolean }>;
  getCommand(
    principal: Principal,
    commandId: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<CommandRecord>;
  /**
   * The events of a command's life behind `afterId` (0 for all), those that were and those to come. Null where none can follow.
   * It holds a slot until `signal` is aborted or the events have ended; throws `quota_exceeded` where there is none.
   */
  followCommand(
    principal: Principal,
    commandId: string,
    afterId: number,
    signal: AbortSignal,
  ): Promise<FollowEvents | null>;
  listCommands(
    principal: Principal,
    query: { sessionId: string | null; state: CommandState | null; limit: number; cursor: string | null },
  ): Promise<CommandPage>;
  cancelCommand(principal: Principal, commandId: string): Promise<CommandRecord>;
  /** Commands of which a person was asked, newest first; each record has its `approval`. */
  listApprovals(
    principal: Principal,
    query: { state: ApprovalState | null; limit: number; cursor: string | null },
  ): Promise<CommandPage>;
  /** The command that an approval belongs to. */
  getApproval(principal: Principal, approvalId: string): Promise<CommandRecord>;
  /** Throws `conflict` with the standing state where it is settled already. */
  decideApproval(
    principal: Principal,
    approvalId: string,
    word: { readonly decision: "approve" | "deny"; readonly note: string | null },
  ): Promise<CommandRecord>;
  /** The whole pipeline as a dry run; consumes nothing. */
  explain(principal: Principal, sessionId: string, submission: Submission): Promise<Decision>;
  /** Version and document of the policy in force. */
  policy(principal: Principal): Promise<{ version: string; document: unknown }>;
  readiness(): Promise<{
    ready: boolean;
    /** `operatorDetail` is for the scope `admin` alone. */
    checks: Readonly<Record<string, { ok: boolean; detail: string | null; operatorDetail: string | null }>>;
  }>;
}
