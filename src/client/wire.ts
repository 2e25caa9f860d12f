import type { z } from "zod";
import type { approvalListQuerySchema, approvalPageSchema } from "../contract/approvals.js";
import type { commandEventSchema } from "../contract/command-events.js";
import type { commandListQuerySchema, commandPageSchema } from "../contract/commands.js";
import type { auditPageSchema, auditQuerySchema, commandEvidenceSchema } from "../contract/evidence.js";
import type { policySchema } from "../contract/policy.js";
import type {
  createdSessionSchema,
  sessionBodySchema,
  sessionListQuerySchema,
  sessionPageSchema,
} from "../contract/sessions.js";
import type { sourceObjectBodySchema } from "../contract/source-objects.js";
import type { archiveReceiptSchema } from "../contract/workspaces.js";

// A limit is a number to a caller; what carries it in a URL is not the caller's matter.
type Query<T> = Omit<T, "limit"> & { readonly limit?: number | undefined };

/** What to open a session with. */
export type SessionBody = z.input<typeof sessionBodySchema>;
/** A session as its creation shows it. */
export type CreatedSession = z.output<typeof createdSessionSchema>;
/** What a listing of sessions can be asked for. */
export type SessionQuery = Query<z.input<typeof sessionListQuerySchema>>;
/** One page of sessions. */
export type SessionPage = z.output<typeof sessionPageSchema>;
/** The label of a source object. */
export type SourceObjectBody = z.input<typeof sourceObjectBodySchema>;
/** What a listing of commands can be asked for. */
export type CommandQuery = Query<z.input<typeof commandListQuerySchema>>;
/** One page of commands. */
export type CommandPage = z.output<typeof commandPageSchema>;
/** What a listing of approvals can be asked for. */
export type ApprovalQuery = Query<z.input<typeof approvalListQuerySchema>>;
/** One page of approvals. */
export type ApprovalPage = z.output<typeof approvalPageSchema>;
/** The policy in force. */
export type PolicyInForce = z.output<typeof policySchema>;
/** The evidence of one command. */
export type CommandEvidence = z.output<typeof commandEvidenceSchema>;
/** What an audit can be asked for. */
export type AuditQuery = Query<z.input<typeof auditQuerySchema>>;
/** One page of a tenant's evidence. */
export type AuditPage = z.output<typeof auditPageSchema>;
/** One step of a command's life. Never holds output. */
export type CommandEvent = z.output<typeof commandEventSchema>;
/** What was taken from an archive. */
export type ArchiveReceipt = z.output<typeof archiveReceiptSchema>;
