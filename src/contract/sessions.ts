import { z } from "zod";
import type { SessionGrant } from "../domain/decision/grant.js";
import { POLICY_LEVELS } from "../domain/decision/grant.js";
import type { SessionBudget } from "../domain/decision/session-budget.js";
import { isName } from "../domain/ids.js";
import type { Session } from "../domain/session.js";
import { MAX_URL_BYTES } from "../domain/webhook/judge-target.js";
import { type SessionWebhook, WEBHOOK_EVENTS } from "../domain/webhook/webhook.js";
import { labelSchema, labelToWire } from "./labels.js";
import { nextCursorSchema, pagingShape } from "./paging.js";
import {
  argvSchema,
  isoTime,
  isoTimeOrNull,
  objectListSchema,
  shortListSchema,
  textSchema,
  timeSchema,
} from "./wire-values.js";

/** The most vectors one grant may name. */
const MAX_VECTORS = 64;

/** The name of something a caller chooses: a workspace, a profile. */
export function nameSchema(description: string) {
  return z
    .string()
    .refine(isName, "must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or digit")
    .meta({ pattern: "^[a-z0-9][a-z0-9_-]{0,62}$", description });
}

const vectorSchema = z.strictObject({
  argv: argvSchema(),
  match: z.enum(["exact", "prefix"]),
  uses: z
    .int()
    .min(1)
    .optional()
    .meta({ description: "Dispatches it covers; without it, as many as the grant has." }),
});

/** What an operator grants a session. What it leaves out is as the service's default grant says. */
export const grantSchema = z.strictObject({
  level: z.enum(POLICY_LEVELS).optional(),
  dispatches: z.int().min(0).optional().meta({ description: "How many commands the session may start." }),
  expires_at: z.iso
    .datetime({ offset: true, error: "must be an ISO 8601 time with an offset" })
    .refine((text) => Number.isFinite(Date.parse(text)), "must be a time that exists")
    .optional(),
  executables: shortListSchema({
    maxItems: 256,
    minItems: 1,
    maxItemBytes: 4096,
    description: "Patterns (`*`, `?`) of executables as argv[0] names them.",
  }).optional(),
  vectors: objectListSchema(
    vectorSchema,
    MAX_VECTORS,
    "Vectors for which an ask of the policy becomes an allow; nothing else changes.",
  ).optional(),
});

/** Who is to be told of a session's commands. */
const webhookSchema = z.strictObject({
  url: textSchema({
    maxBytes: MAX_URL_BYTES,
    description: "An https URL that leads to a public address. It gets a signed POST for each event.",
  }),
  events: shortListSchema({
    maxItems: WEBHOOK_EVENTS.length,
    minItems: 1,
    maxItemBytes: 63,
    faultOf: (item) =>
      WEBHOOK_EVENTS.some((event) => event === item) ? null : `must be one of ${WEBHOOK_EVENTS.join(", ")}`,
    description: `Of ${WEBHOOK_EVENTS.join(", ")}; all of them unless told.`,
  }).optional(),
});

/** A webhook from what the caller sent. */
export function webhookFromWire(wire: z.output<typeof webhookSchema>): SessionWebhook {
  const wanted = WEBHOOK_EVENTS.filter((event) => wire.events?.includes(event) ?? true);
  return { url: wire.url, events: wanted };
}

/** Seconds as a caller gives them; kept in whole milliseconds. */
const secondsSchema = (description: string) => z.number().min(0).max(1e9).optional().meta({ description });

/** What an operator lets a session use beside the dispatches of its grant; what is left out is not bounded by it. */
export const budgetSchema = z.strictObject({
  wall_seconds: secondsSchema("Wall time of all its commands together."),
  cpu_seconds: secondsSchema("CPU time of all its commands together."),
  concurrent: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .meta({ description: "Commands in flight at one time: queued or running." }),
  queued: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .meta({ description: "Commands that wait to start or to be approved." }),
  max_memory_bytes: z
    .int()
    .min(32 << 20)
    .max(2 ** 50)
    .optional()
    .meta({
      description: "Lowers the memory limit of its containers; the profile's limit stays where it is lower.",
    }),
});

/** A budget as the caller sent it. */
export type BudgetWire = z.output<typeof budgetSchema>;

/** A budget in the units of the domain. */
export function budgetFromWire(wire: BudgetWire): SessionBudget {
  const ms = (seconds: number | undefined) => (seconds === undefined ? null : Math.round(seconds * 1000) + 0);
  return {
    wallMsLeft: ms(wire.wall_seconds),
    cpuMsLeft: ms(wire.cpu_seconds),
    concurrent: wire.concurrent ?? null,
    queued: wire.queued ?? null,
    maxMemoryBytes: wire.max_memory_bytes ?? null,
  };
}

/** The body of `POST /v1/sessions`. */
export const sessionBodySchema = z.strictObject({
  workspace_id: nameSchema("The workspace it works in."),
  profile: nameSchema("The image profile; the service's default unless told.").optional(),
  grant: grantSchema.optional(),
  budget: budgetSchema.optional(),
  webhook: webhookSchema.optional(),
});

/** A grant as the caller sent it. */
export type GrantWire = z.output<typeof grantSchema>;

/** A whole grant from what the caller sent and the defaults of the service. */
export function grantFromWire(wire: GrantWire, defaults: SessionGrant): SessionGrant {
  return {
    level: wire.level ?? defaults.level,
    revoked: false,
    expiresAtMs: wire.expires_at === undefined ? defaults.expiresAtMs : Date.parse(wire.expires_at),
    dispatchesLeft: wire.dispatches ?? defaults.dispatchesLeft,
    executables: wire.executables ?? defaults.executables,
    vectors:
      wire.vectors?.map((vector) => ({
        argv: vector.argv,
        match: vector.match,
        usesLeft: vector.uses ?? null,
      })) ?? defaults.vectors,
  };
}

/** The body of `PUT /v1/sessions/{id}/cwd`. */
export const cwdBodySchema = z.strictObject({
  path: textSchema({
    maxBytes: 4096,
    description: "A directory of the workspace: relative to the current one, or absolute under `/workspace`.",
  }),
});

/** `GET /v1/sessions`. */
export const sessionListQuerySchema = z.strictObject(pagingShape);

/** A session as callers see it. */
export const sessionSchema = z
  .strictObject({
    session_id: z.string(),
    workspace_id: z.string(),
    profile: z.string(),
    cwd: z.string().meta({ description: "Relative to the workspace root: `.` or `a/b`." }),
    grant: z.strictObject({
      level: z.enum(POLICY_LEVELS),
      revoked: z.boolean(),
      expires_at: timeSchema.nullable(),
      dispatches_left: z.int().nullable(),
      executables: z.array(z.string()).nullable(),
      vectors: z.array(
        z.strictObject({
          argv: z.array(z.string()),
          match: z.enum(["exact", "prefix"]),
          uses_left: z.int().nullable(),
        }),
      ),
    }),
    webhook: z.strictObject({ url: z.string(), events: z.array(z.enum(WEBHOOK_EVENTS)) }).nullable(),
    budget: z.strictObject({
      wall_seconds_left: z.number().nullable().meta({
        description: "What commands that have not ended hold is not counted as left.",
      }),
      cpu_seconds_left: z.number().nullable(),
      concurrent: z.int().nullable(),
      queued: z.int().nullable(),
      max_memory_bytes: z.int().nullable(),
    }),
    label: labelSchema.meta({ description: "Joined from what its commands have used; only ever rises." }),
    created_by: z.string(),
    created_at: timeSchema,
  })
  .meta({ id: "Session" });

/** A session as its creation shows it, and nothing else does. */
export const createdSessionSchema = sessionSchema
  .extend({
    webhook_secret: z.string().optional().meta({
      description: "Verifies the signatures of its webhook, where it has one. Shown here and never again.",
    }),
  })
  .meta({ id: "CreatedSession" });

/** A session on the wire. */
export type SessionWire = z.output<typeof sessionSchema>;

/** One page of sessions. */
export const sessionPageSchema = z
  .strictObject({
    sessions: z.array(sessionSchema),
    next_cursor: nextCursorSchema,
  })
  .meta({ id: "SessionPage" });

function budgetToWire(budget: SessionBudget): SessionWire["budget"] {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);
  return {
    wall_seconds_left: seconds(budget.wallMsLeft),
    cpu_seconds_left: seconds(budget.cpuMsLeft),
    concurrent: budget.concurrent,
    queued: budget.queued,
    max_memory_bytes: budget.maxMemoryBytes,
  };
}

/** Maps a session; its tenant is the caller's own. */
export function sessionToWire(session: Session): SessionWire {
  const grant = session.grant;
  return {
    session_id: session.id,
    workspace_id: session.workspaceId,
    profile: session.profile,
    cwd: session.cwd,
    grant: {
      level: grant.level,
      revoked: grant.revoked,
      expires_at: isoTimeOrNull(grant.expiresAtMs),
      dispatches_left: grant.dispatchesLeft,
      executables: grant.executables === null ? null : [...grant.executables],
      vectors: grant.vectors.map((vector) => ({
        argv: [...vector.argv],
        match: vector.match,
        uses_left: vector.usesLeft,
      })),
    },
    webhook:
      session.webhook === undefined
        ? null
        : { url: session.webhook.url, events: [...session.webhook.events] },
    budget: budgetToWire(session.budget),
    label: labelToWire(session.label),
    created_by: session.createdBy,
    created_at: isoTime(session.createdAtMs),
  };
}
