export type {
  ApprovalSummaryWire as ApprovalSummary,
  ApprovalWire as Approval,
} from "../contract/approvals.js";
export type {
  CommandSummaryWire as CommandSummary,
  SubmissionWire as Submission,
} from "../contract/commands.js";
export type { DecisionWire as Decision } from "../contract/decisions.js";
export type { ProblemWire as Problem } from "../contract/problems.js";
export type { SessionWire as Session } from "../contract/sessions.js";
export type { SourceObjectWire as SourceObject } from "../contract/source-objects.js";
export type { WorkspaceWire as Workspace } from "../contract/workspaces.js";
export type { Approvals, DecisionOptions, WatchOptions } from "./approvals.js";
export { type BailiffClient, createBailiffClient } from "./client.js";
export {
  byEffect,
  type Command,
  type CompletedCommand,
  type EffectHandlers,
  type FinishedCommand,
  isFinished,
  type KilledCommand,
  type NotStartedCommand,
  type OmittedCommand,
  type PendingCommand,
  type UnknownCommand,
} from "./command.js";
export type { Commands, EventOptions, FollowedEvent, SubmitOptions, WaitOptions } from "./commands.js";
export { BailiffProblem, type ErrorCode, NoAnswer } from "./errors.js";
export type { Evidence } from "./evidence.js";
export type { Policy } from "./policy.js";
export type { Sessions } from "./sessions.js";
export type { CallOptions, ClientSettings, OpenAnswer, Request, Transport } from "./transport.js";
export type {
  ApprovalPage,
  ApprovalQuery,
  ArchiveReceipt,
  AuditPage,
  AuditQuery,
  CommandEvent,
  CommandEvidence,
  CommandPage,
  CommandQuery,
  CreatedSession,
  PolicyInForce,
  SessionBody,
  SessionPage,
  SessionQuery,
  SourceObjectBody,
} from "./wire.js";
export type { Workspaces } from "./workspaces.js";
