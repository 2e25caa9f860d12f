import { z } from "zod";
import { CHECKPOINT_FORMAT, type SignedCheckpoint } from "../domain/evidence/checkpoint.js";
import { type ChainedRecord, EVIDENCE_KINDS, RECORD_FORMAT } from "../domain/evidence/evidence-record.js";
import { nextCursorSchema, pagingShape } from "./paging.js";
import { timeSchema } from "./wire-values.js";

const hash = z.string().meta({ description: "SHA-256, 64 lower-case hexadecimal digits." });

const streamSchema = z
  .strictObject({
    bytes: z.int(),
    sha256: z.string().nullable(),
    truncated: z.boolean(),
    truncated_by: z.array(z.string()),
    utf8_replaced: z.boolean(),
  })
  .nullable();

const evidenceRecordSchema = z
  .strictObject({
    format: z.literal(RECORD_FORMAT),
    tenant: z.string(),
    seq: z.int().meta({ description: "From 1, without gaps within the tenant." }),
    prev_hash: hash,
    kind: z.enum(EVIDENCE_KINDS),
    time: timeSchema,
    command_id: z.string(),
    session_id: z.string(),
    workspace_id: z.string(),
    principal: z.string(),
    request: z.strictObject({
      argv: z.array(z.string()).nullable(),
      argv_tokens: z.int(),
      argv_redacted: z.array(z.int()).meta({ description: "Tokens that are not as they were sent." }),
      argv_hmac: z.string().meta({ description: "Keyed: only the deployment can compare it." }),
      cwd: z.string(),
      timeout_ms: z.number(),
      max_stdout_chars: z.int(),
      max_stderr_chars: z.int(),
      source_objects: z.array(z.string()),
      reason: z.string().nullable(),
    }),
    decision: z.strictObject({
      verdict: z.string(),
      layers: z.array(
        z.strictObject({
          layer: z.string(),
          verdict: z.string(),
          code: z.string(),
          reason: z.string(),
          rule_id: z.string().nullable(),
          token_index: z.int().nullable(),
          vector: z.array(z.string()).nullable(),
        }),
      ),
      inner_vectors: z.array(
        z.strictObject({
          argv: z.array(z.string()).nullable(),
          via: z.array(z.string()),
          certain: z.boolean(),
        }),
      ),
      git_hardened: z.boolean(),
      granted_vector: z.int().nullable(),
      bound_files: z.array(z.string()).nullable(),
    }),
    policy_version: z.string(),
    label: z
      .strictObject({ sensitivity: z.string(), trust: z.string(), categories: z.array(z.string()) })
      .nullable(),
    approval_id: z.string().nullable(),
    approval: z
      .strictObject({ decision: z.string(), decided_by: z.string(), note: z.string().nullable() })
      .nullable(),
    profile: z.string(),
    image_digest: z.string(),
    pool: z.string(),
    worker_id: z.string().nullable(),
    container_id: z.string().nullable(),
    created_at: timeSchema,
    queued_at: timeSchema.nullable(),
    dispatched_at: timeSchema.nullable(),
    finished_at: timeSchema.nullable(),
    result: z
      .strictObject({
        outcome: z.string(),
        effect: z.string(),
        returncode: z.int().nullable(),
        signal: z.string().nullable(),
        detail: z.string().nullable(),
        start_failure: z
          .strictObject({ stage: z.string(), errno: z.string(), message: z.string() })
          .nullable(),
        stdout: streamSchema,
        stderr: streamSchema,
        partial: z.boolean(),
        result_omitted: z.boolean(),
        git_hardened: z.boolean(),
        usage: z
          .strictObject({
            wall_ms: z.number(),
            cpu_ms: z.number().nullable(),
            peak_memory_bytes: z.number().nullable(),
            oom_kills: z.int().nullable(),
          })
          .nullable(),
      })
      .nullable(),
  })
  .meta({
    id: "EvidenceRecord",
    description: "As it was hashed: its canonical JSON (RFC 8785) gives `hash`.",
  });

const chainedShape = { hash, record: evidenceRecordSchema };

const checkpointSchema = z
  .strictObject({
    checkpoint: z.strictObject({
      format: z.literal(CHECKPOINT_FORMAT),
      kind: z.enum(["seal", "cut"]),
      tenant: z.string(),
      seq: z.int(),
      hash,
      time: timeSchema,
      key_id: hash,
    }),
    signature: z.string().meta({ description: "Ed25519 over the canonical JSON, in hexadecimal." }),
  })
  .meta({ id: "EvidenceCheckpoint" });

/** `GET /v1/commands/{id}/evidence`. */
export const commandEvidenceSchema = z
  .strictObject({
    command_id: z.string(),
    records: z.array(
      z.strictObject({
        ...chainedShape,
        sealed_by: checkpointSchema
          .nullable()
          .meta({ description: "The first checkpoint that covers it; null until one does." }),
      }),
    ),
    complete: z.boolean().meta({ description: "Whether the command's final record is among them." }),
  })
  .meta({ id: "CommandEvidence" });

/** A command's records on the wire. */
export type CommandEvidenceWire = z.output<typeof commandEvidenceSchema>;

/** One page of `GET /v1/audit`, oldest first. */
export const auditPageSchema = z
  .strictObject({
    records: z.array(z.strictObject(chainedShape)),
    checkpoints: z
      .array(checkpointSchema)
      .meta({ description: "Of the records looked at, and the cut before the first." }),
    next_cursor: nextCursorSchema,
  })
  .meta({ id: "AuditPage" });

/** `?from=&kind=&session=&limit=&cursor=` of an audit. */
export const auditQuerySchema = z.strictObject({
  from: z.iso.datetime().optional().meta({ description: "The time of the first record; ISO 8601, UTC." }),
  kind: z.enum(EVIDENCE_KINDS).optional(),
  session: z.string().optional().meta({ description: "Only this session's." }),
  ...pagingShape,
});

type ChainedWire = { hash: string; record: z.output<typeof evidenceRecordSchema> };

/** A record and its hash; the record is published as it was hashed, so there is nothing to map. */
export function chainedToWire({ hash, record }: ChainedRecord): ChainedWire {
  return { hash, record: record as unknown as ChainedWire["record"] };
}

/** A signed checkpoint, as it was signed. */
export function checkpointToWire({
  checkpoint,
  signature,
}: SignedCheckpoint): z.output<typeof checkpointSchema> {
  return { checkpoint: { ...checkpoint }, signature };
}
