import { z } from "zod";
import { APPROVAL_STATES, type Approval } from "../domain/approval/approval.js";
import { utf8Length } from "../domain/argv.js";
import type { CommandRecord } from "../domain/command.js";
import type { ArgvRendering } from "../domain/rendering/render-argv.js";
import { type RequestRendering, renderRequest } from "../domain/rendering/render-request.js";
import { decisionSchema, decisionToWire } from "./decisions.js";
import { labelSchema, labelToWire } from "./labels.js";
import { nextCursorSchema, pagingShape } from "./paging.js";
import { isoTime, isoTimeOrNull, textSchema, timeSchema } from "./wire-values.js";

const MAX_NOTE_BYTES = 2_000;
/** A longer argv is left out of listings, and so is its rendering. */
const LISTED_ARGV_BYTES = 16_384;

const MARKS = [
  "control",
  "bidi",
  "invisible",
  "combining",
  "look_alike",
  "unusual",
  "spaces",
  "empty",
] as const;

/** The body of a decision. */
export const approvalDecisionSchema = z.strictObject({
  decision: z.enum(["approve", "deny"]),
  note: textSchema({ maxBytes: MAX_NOTE_BYTES, description: "Kept with the approval." })
    .nullable()
    .optional(),
});

/** `?state=&limit=&cursor=` of the listing. */
export const approvalListQuerySchema = z.strictObject({
  state: z.enum(APPROVAL_STATES).optional().meta({ description: "Only approvals in this state." }),
  ...pagingShape,
});

const argvShape = {
  argv_summary: z.string().meta({
    description:
      "The argv as JSON in bounded length; what is left out is counted outside of the quotes. Nothing in it can hide, reorder or pass for something else.",
  }),
  elided: z.boolean().meta({ description: "Whether `argv_summary` leaves something out." }),
  tokens: z.int(),
  characters: z.int().meta({ description: "Code points of all tokens." }),
  bytes: z.int().meta({ description: "UTF-8 bytes of all tokens." }),
  notes: z.array(
    z.strictObject({
      token_index: z.int(),
      characters: z.int(),
      bytes: z.int(),
      marks: z.array(z.enum(MARKS)).meta({ description: "Why to look closely." }),
      cut: z.boolean(),
    }),
  ),
  further_notes: z.int().meta({ description: "Tokens with marks or cuts that `notes` does not name." }),
};

const renderingShape = {
  ...argvShape,
  why: z
    .array(
      z.strictObject({
        layer: z.string(),
        code: z.string(),
        reason: z.string(),
        rule_id: z.string().nullable(),
        vector: z.string().nullable(),
      }),
    )
    .meta({ description: "Who asks for a person, and in whose words." }),
  inner: z
    .array(z.strictObject({ argv: z.string(), via: z.string(), certain: z.boolean() }))
    .meta({ description: "Commands seen inside the requested one." }),
  further_inner: z.int(),
  text: z.string().meta({ description: "All of it as lines of plain text, safe on a terminal." }),
};

/** A request in front of eyes; every text in it is safe to show as it is. */
const renderingSchema = z.strictObject(renderingShape).meta({ id: "Rendering" });

/** The same with the whole argv. */
const wholeRenderingSchema = z
  .strictObject({
    ...renderingShape,
    argv_text: z.string().meta({ description: "The whole argv; parsed as JSON it is the argv." }),
  })
  .meta({ id: "WholeRendering" });

/** What a command shows of its approval. */
export const commandApprovalSchema = z
  .strictObject({
    approval_id: z.string(),
    state: z.enum(APPROVAL_STATES),
    expires_at: timeSchema.nullable(),
    decided_by: z.string().nullable(),
    decided_at: timeSchema.nullable(),
    note: z.string().nullable(),
    rendering: renderingSchema,
  })
  .meta({ id: "CommandApproval" });

const approvalShape = {
  approval_id: z.string(),
  state: z.enum(APPROVAL_STATES),
  command_id: z.string(),
  session_id: z.string(),
  workspace_id: z.string(),
  requested_by: z.string(),
  created_at: timeSchema,
  expires_at: timeSchema
    .nullable()
    .meta({ description: "Of the decision and of the dispatch behind it; null before it is admitted." }),
  decided_by: z.string().nullable(),
  decided_at: timeSchema.nullable(),
  note: z.string().nullable(),
  binding_sha256: z.string().meta({ description: "Over everything that is approved." }),
  files: z
    .array(z.strictObject({ path: z.string(), sha256: z.string().nullable() }))
    .meta({ description: "Workspace files it binds; null for one that does not exist and must not." }),
  cwd: z.string(),
  timeout_s: z.number(),
  profile: z.string(),
  image_digest: z.string(),
  label: labelSchema.nullable(),
  reason: z.string().nullable().meta({ description: "The requester's own words." }),
};

/** An approval in a listing. */
const approvalSummarySchema = z
  .strictObject({
    ...approvalShape,
    argv: z
      .array(z.string())
      .nullable()
      .meta({ description: `Null where it is longer than ${LISTED_ARGV_BYTES} bytes: get the approval.` }),
    rendering: renderingSchema.nullable().meta({ description: "Null where `argv` is." }),
  })
  .meta({ id: "ApprovalSummary" });

/** An approval with everything a decision needs. */
export const approvalSchema = z
  .strictObject({
    ...approvalShape,
    argv: z.array(z.string()),
    rendering: wholeRenderingSchema,
    decision: decisionSchema,
  })
  .meta({ id: "Approval" });

/** One page of approvals, newest first. */
export const approvalPageSchema = z
  .strictObject({ approvals: z.array(approvalSummarySchema), next_cursor: nextCursorSchema })
  .meta({ id: "ApprovalPage" });

/** An approval on the wire. */
export type ApprovalWire = z.output<typeof approvalSchema>;
/** An approval of a listing, on the wire. */
export type ApprovalSummaryWire = z.output<typeof approvalSummarySchema>;

/** What a command shows of its approval; null where nobody was asked. */
export function commandApprovalToWire(record: CommandRecord): z.output<typeof commandApprovalSchema> | null {
  if (record.approval === undefined) return null;
  return { ...standingToWire(record.approval), rendering: renderingToWire(renderRequest(record)) };
}

/** Maps a command of which a person was asked, for a listing. */
export function approvalSummaryToWire(record: CommandRecord): ApprovalSummaryWire {
  const argvBytes = record.request.argv.reduce((sum, token) => sum + utf8Length(token), 0);
  const isShown = argvBytes <= LISTED_ARGV_BYTES;
  return {
    ...approvalFields(record),
    argv: isShown ? [...record.request.argv] : null,
    rendering: isShown ? renderingToWire(renderRequest(record)) : null,
  };
}

/** Maps a command of which a person was asked. */
export function approvalToWire(record: CommandRecord): ApprovalWire {
  const rendering = renderRequest(record);
  return {
    ...approvalFields(record),
    argv: [...record.request.argv],
    rendering: { ...renderingToWire(rendering), argv_text: rendering.argv.text },
    decision: decisionToWire(record.decision),
  };
}

function standingToWire(approval: Approval) {
  return {
    approval_id: approval.id,
    state: approval.state,
    expires_at: isoTimeOrNull(approval.expiresAtMs),
    decided_by: approval.decidedBy,
    decided_at: isoTimeOrNull(approval.decidedAtMs),
    note: approval.note,
  };
}

function approvalFields(record: CommandRecord) {
  const { approval, request, decision } = record;
  if (approval === undefined) throw new Error("a command without an approval was to be shown as one");
  return {
    ...standingToWire(approval),
    command_id: record.id,
    session_id: record.sessionId,
    workspace_id: record.workspaceId,
    requested_by: record.principalId,
    created_at: isoTime(record.createdAtMs),
    binding_sha256: approval.binding,
    files: approval.files.map(({ path, sha256 }) => ({ path, sha256 })),
    cwd: request.cwd,
    timeout_s: request.timeoutMs / 1000,
    profile: record.profile,
    image_digest: record.imageDigest,
    label: decision.effectiveLabel === undefined ? null : labelToWire(decision.effectiveLabel),
    reason: request.reason,
  };
}

function argvToWire(argv: ArgvRendering) {
  return {
    argv_summary: argv.summary,
    elided: argv.elided,
    tokens: argv.tokens,
    characters: argv.characters,
    bytes: argv.bytes,
    notes: argv.notes.map(({ index, characters, bytes, marks, cut }) => ({
      token_index: index,
      characters,
      bytes,
      marks: [...marks],
      cut,
    })),
    further_notes: argv.furtherNotes,
  };
}

function renderingToWire(rendering: RequestRendering): z.output<typeof renderingSchema> {
  return {
    ...argvToWire(rendering.argv),
    why: rendering.why.map(({ layer, code, reason, ruleId, vector }) => ({
      layer,
      code,
      reason,
      rule_id: ruleId,
      vector,
    })),
    inner: rendering.inner.map(({ argv, via, certain }) => ({ argv, via, certain })),
    further_inner: rendering.furtherInner,
    text: rendering.text,
  };
}
