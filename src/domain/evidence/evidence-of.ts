import { createHmac } from "node:crypto";
import { canonicalJson } from "../canonical-json.js";
import type { CommandRecord, CommandResult, StreamFacts } from "../command.js";
import type { Decision } from "../decision/decision.js";
import {
  type ApprovalWords,
  type EvidenceBody,
  type EvidenceKind,
  RECORD_FORMAT,
  type StreamEvidence,
} from "./evidence-record.js";
import { REDACTED, redactText, redactVector } from "./redact-secrets.js";

/** How much of argv a record has: every token without its secrets, the program alone, or nothing but a keyed hash. */
export const ARGV_RECORDING = ["full", "redacted", "hashed"] as const;
/** What a record has of output beside its byte counts: a hash of each stream, or nothing. */
export const OUTPUT_RECORDING = ["hashed", "none"] as const;

/** What a deployment lets its evidence say of argv and output. */
export interface RecordingTerms {
  readonly argv: (typeof ARGV_RECORDING)[number];
  readonly output: (typeof OUTPUT_RECORDING)[number];
  readonly secretOptions: readonly string[];
  /** For keyed hashes, which nobody without it can guess an argv from. */
  readonly hmacKey: Uint8Array;
}

/** Something that happened to a command, with the command's record as it was then. */
export interface EvidenceEvent {
  readonly kind: EvidenceKind;
  readonly atMs: number;
  readonly record: CommandRecord;
  readonly approval: ApprovalWords | null;
}

/** What the record of an event says. */
export function evidenceOf(event: EvidenceEvent, terms: RecordingTerms): EvidenceBody {
  const { record } = event;
  const { request } = record;
  const label = record.label ?? record.decision.effectiveLabel;
  const vector = recordedVector(request.argv, terms);
  return {
    format: RECORD_FORMAT,
    kind: event.kind,
    tenant: record.tenant,
    time: iso(event.atMs),
    command_id: record.id,
    session_id: record.sessionId,
    workspace_id: record.workspaceId,
    principal: record.principalId,
    request: {
      argv: vector?.argv ?? null,
      argv_tokens: request.argv.length,
      argv_redacted: vector?.changed ?? [],
      argv_hmac: keyedHash(request.argv, terms),
      cwd: request.cwd,
      timeout_ms: request.timeoutMs,
      max_stdout_chars: request.maxStdoutChars,
      max_stderr_chars: request.maxStderrChars,
      source_objects: request.sourceObjects,
      reason: callerText(request.reason, terms),
    },
    decision: decisionEvidence(record.decision, terms),
    policy_version: record.decision.policyVersion,
    label:
      label === undefined
        ? null
        : { sensitivity: label.sensitivity, trust: label.trust, categories: label.categories },
    approval_id: record.approvalId,
    approval: event.approval,
    profile: record.profile,
    image_digest: record.imageDigest,
    pool: record.pool,
    worker_id: record.workerId,
    container_id: record.containerId,
    created_at: iso(record.createdAtMs),
    queued_at: isoOrNull(record.queuedAtMs),
    dispatched_at: isoOrNull(record.dispatchedAtMs),
    finished_at: isoOrNull(record.finishedAtMs),
    result: record.result === null ? null : resultEvidence(record.result, terms),
  };
}

function keyedHash(argv: readonly string[], terms: RecordingTerms): string {
  const wellFormed = argv.map((token) => token.toWellFormed());
  return createHmac("sha256", terms.hmacKey).update(canonicalJson(wellFormed), "utf8").digest("hex");
}

function recordedVector(argv: readonly string[], terms: RecordingTerms) {
  if (terms.argv === "hashed") return null;
  const whole = redactVector(argv, terms.secretOptions);
  if (terms.argv === "full") return whole;
  return {
    argv: whole.argv.map((token, index) => (index === 0 ? token : REDACTED)),
    changed: whole.argv.flatMap((_, index) => (index === 0 && !whole.changed.includes(0) ? [] : index)),
  };
}

/** What a caller wrote for people may quote what it asks for. */
function callerText(text: string | null, terms: RecordingTerms): string | null {
  return text === null || terms.argv !== "full" ? null : redactText(text, terms.secretOptions);
}

function decisionEvidence(decision: Decision, terms: RecordingTerms): EvidenceBody["decision"] {
  return {
    verdict: decision.verdict,
    layers: decision.layers.map((layer) => ({
      layer: layer.layer,
      verdict: layer.verdict,
      code: layer.code,
      reason: layer.reason,
      rule_id: layer.ruleId ?? null,
      token_index: layer.tokenIndex ?? null,
      vector: layer.vector === undefined ? null : (recordedVector(layer.vector, terms)?.argv ?? null),
    })),
    inner_vectors: decision.innerVectors.map(({ argv, via, certain }) => ({
      argv: recordedVector(argv, terms)?.argv ?? null,
      via,
      certain,
    })),
    git_hardened: decision.gitHardened,
    granted_vector: decision.grantedVector ?? null,
    bound_files: terms.argv === "full" ? decision.boundFiles : null,
  };
}

function resultEvidence(result: CommandResult, terms: RecordingTerms): EvidenceBody["result"] {
  const { usage, startFailure } = result;
  return {
    outcome: result.outcome,
    effect: result.effect,
    returncode: result.returncode,
    signal: result.signal,
    detail: result.detail,
    start_failure:
      startFailure === null
        ? null
        : { stage: startFailure.stage, errno: startFailure.errno, message: startFailure.message },
    stdout: streamEvidence(result.stdout, terms),
    stderr: streamEvidence(result.stderr, terms),
    partial: result.partial,
    result_omitted: result.resultOmitted,
    git_hardened: result.gitHardened,
    usage:
      usage === null
        ? null
        : {
            wall_ms: usage.wallMs,
            cpu_ms: usage.cpuMs,
            peak_memory_bytes: usage.peakMemoryBytes,
            oom_kills: usage.oomKills,
          },
  };
}

function streamEvidence(stream: StreamFacts | null, terms: RecordingTerms): StreamEvidence | null {
  if (stream === null) return null;
  return {
    bytes: stream.bytes,
    sha256: terms.output === "hashed" ? stream.sha256 : null,
    truncated: stream.truncated,
    truncated_by: stream.truncatedBy,
    utf8_replaced: stream.utf8Replaced,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
