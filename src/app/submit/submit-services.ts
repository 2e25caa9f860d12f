import type { CommandRecord } from "../../domain/command.js";
import type { Decision } from "../../domain/decision/decision.js";
import { BailiffError } from "../../domain/errors.js";
import { neverStarted } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
import type { Session } from "../../domain/session.js";
import type { Principal } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandQueue } from "../../ports/command-queue.js";
import type { AdmissionAnswer, AdmissionQuotas, CommandStore } from "../../ports/command-store.js";
import type { IdSource } from "../../ports/id-source.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import { notFound, requireId, requireScope } from "../access.js";
import type { Decider } from "../decide/decider.js";
import type { BailiffServices, Submission, SubmitOptions } from "../services.js";
import { deniedError } from "./denied-error.js";

/** Use cases that turn a submission into a decision and, where it may, into a queued command. */
export function createSubmitServices(deps: {
  readonly commands: CommandStore;
  readonly sessions: SessionStore;
  readonly queue: CommandQueue;
  readonly decider: Decider;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly quotasOf: (tenant: string) => AdmissionQuotas;
}): Pick<BailiffServices, "submitCommand" | "explain"> {
  const find = async (principal: Principal, sessionId: string): Promise<Session> => {
    requireScope(principal, "commands:write");
    requireId("ses", "session", sessionId);
    const session = await deps.sessions.get(principal.tenant, sessionId);
    if (session === null) throw notFound("session");
    return session;
  };

  const build = async (
    principal: Principal,
    session: Session,
    submission: Submission,
  ): Promise<CommandRecord> => {
    const request = { ...submission, cwd: session.cwd };
    const { decision, profile } = await deps.decider.decide({ session, scopes: principal.scopes, request });
    const nowMs = deps.clock.nowMs();
    const state = stateFor(decision);
    return {
      formatVersion: 1,
      id: deps.ids.next("cmd"),
      tenant: principal.tenant,
      sessionId: session.id,
      workspaceId: session.workspaceId,
      principalId: principal.id,
      profile: profile.name,
      imageDigest: profile.imageDigest,
      pool: profile.pool,
      request,
      decision,
      state,
      createdAtMs: nowMs,
      queuedAtMs: state === "queued" ? nowMs : null,
      dispatchedAtMs: null,
      finishedAtMs: state === "finished" ? nowMs : null,
      fence: null,
      workerId: null,
      containerId: null,
      cancelRequested: false,
      approvalId: null,
      result: state === "finished" ? unstartedResult(neverStarted("denied", null)) : null,
      ...(session.webhook === undefined ? {} : { webhook: session.webhook }),
    };
  };

  /** A lost enqueue loses nothing: the record is the truth and the reconciler queues it again. */
  const enqueue = async (record: CommandRecord, priority: number, options: SubmitOptions): Promise<void> => {
    try {
      await deps.queue.enqueue(record.pool, {
        commandId: record.id,
        priority,
        traceparent: options.traceparent,
      });
    } catch (error) {
      deps.metrics.count("bailiff_enqueue_failures_total");
      deps.log.warn({ command_id: record.id, err: error }, "admitted but not enqueued; the reconciler will");
    }
  };

  return {
    async submitCommand(principal, sessionId, submission, options) {
      const session = await find(principal, sessionId);
      const record = await build(principal, session, submission);
      for (const layer of record.decision.layers) {
        deps.metrics.count("bailiff_decisions_total", { layer: layer.layer, verdict: layer.verdict });
      }
      const answer = await deps.commands.admit({
        record,
        idempotency: options.idempotency,
        quotas: deps.quotasOf(principal.tenant),
      });
      if (answer.kind === "duplicate") {
        const original = await deps.commands.waitForEnd(answer.commandId, options.waitMs, options.signal);
        if (original === null) throw notFound("command");
        if (original.result?.outcome === "denied") throw deniedError(original);
        return { record: original, duplicate: true };
      }
      if (answer.kind !== "admitted") throw refusal(answer);
      deps.log.info(
        {
          command_id: record.id,
          session_id: session.id,
          tenant: record.tenant,
          verdict: record.decision.verdict,
          state: record.state,
        },
        "command admitted",
      );
      if (record.result?.outcome === "denied") throw deniedError(record);
      if (record.state === "queued") await enqueue(record, answer.priority, options);
      if (record.state === "awaiting_approval" || options.waitMs === 0) return { record, duplicate: false };
      const latest = await deps.commands.waitForEnd(record.id, options.waitMs, options.signal);
      return { record: latest ?? record, duplicate: false };
    },

    async explain(principal, sessionId, submission) {
      const session = await find(principal, sessionId);
      const { decision } = await deps.decider.decide({
        session,
        scopes: principal.scopes,
        request: { ...submission, cwd: session.cwd },
      });
      return decision;
    },
  };
}

function stateFor(decision: Decision): CommandRecord["state"] {
  if (decision.verdict === "deny") return "finished";
  return decision.verdict === "ask" ? "awaiting_approval" : "queued";
}

function refusal(answer: Exclude<AdmissionAnswer, { kind: "admitted" | "duplicate" }>): BailiffError {
  switch (answer.kind) {
    case "idempotency_mismatch":
      return new BailiffError("idempotency_mismatch", "this Idempotency-Key came before with another body");
    case "session_gone":
      return notFound("session");
    case "grant_exhausted":
      return new BailiffError("grant_exhausted", "the session's grant is used up, expired or revoked");
    case "quota": {
      const code =
        answer.quota === "totalQueued"
          ? "overloaded"
          : answer.quota === "tenantRequestsPerMinute"
            ? "rate_limited"
            : "quota_exceeded";
      return new BailiffError(code, `the limit of ${answer.limit} (${answer.quota}) is reached`, {
        retryAfterMs: answer.retryAfterMs,
        extensions: { quota: answer.quota, limit: answer.limit },
      });
    }
  }
}
