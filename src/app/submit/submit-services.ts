import { approvalIdOf, pendingApproval } from "../../domain/approval/approval.js";
import type { CommandRecord, CommandRequest } from "../../domain/command.js";
import { type BudgetUsage, budgetState, timeoutWithinBudgetMs } from "../../domain/decision/budget-state.js";
import { chargeFor } from "../../domain/decision/charge.js";
import type { Decision, LayerName } from "../../domain/decision/decision.js";
import { BailiffError } from "../../domain/errors.js";
import { neverStarted } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
import type { Session } from "../../domain/session.js";
import { traceFields } from "../../domain/trace-context.js";
import type { Principal } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import type { AdmissionAnswer, AdmissionQuotas, CommandStore, FullQuota } from "../../ports/command-store.js";
import type { IdSource } from "../../ports/id-source.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { Log, Metrics, Span, Tracer } from "../../ports/telemetry.js";
import { notFound, requireId, requireScope } from "../access.js";
import { type BindRequest, boundDecision } from "../approvals/bind-request.js";
import type { Answer, Decider } from "../decide/decider.js";
import type { BailiffServices, Submission, SubmitOptions } from "../services.js";
import { traced } from "../traced.js";
import { deniedError } from "./denied-error.js";
import type { EnqueueAdmitted } from "./enqueue-admitted.js";

/** An answer that stands: the others ask for another decision. */
type Settled = Exclude<AdmissionAnswer, { kind: "session_changed" | "budget_changed" }>;

/** How often one submit is decided before the caller is told that its session does not hold still. */
const MAX_DECISIONS = 8;

/** Use cases that turn a submission into a decision and, where it may, into a queued command. */
export function createSubmitServices(deps: {
  readonly commands: CommandStore;
  readonly sessions: SessionStore;
  readonly enqueue: EnqueueAdmitted;
  readonly decider: Decider;
  readonly bind: BindRequest;
  /** How long an approval may take, and the dispatch behind it. */
  readonly approvalExpiryMs: number;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  readonly quotasOf: (tenant: string) => AdmissionQuotas;
}): Pick<BailiffServices, "submitCommand" | "explain"> {
  /** The session and what is used up, asked for at once: the one does not depend on the other. */
  const find = async (
    principal: Principal,
    sessionId: string,
  ): Promise<{ readonly session: Session; readonly usage: BudgetUsage }> => {
    requireScope(principal, "commands:write");
    requireId("ses", "session", sessionId);
    const [session, usage] = await Promise.all([
      deps.sessions.get(principal.tenant, sessionId),
      deps.commands.usage(principal.tenant, sessionId),
    ]);
    if (session === null) throw notFound("session");
    return { session, usage };
  };

  /** What the pipeline says of it now, with the time it may take by what is left; consumes nothing. */
  const decideNow = async (
    principal: Principal,
    session: Session,
    submission: Submission,
    usage: BudgetUsage,
  ): Promise<Answer & { readonly request: CommandRequest }> => {
    const budget = budgetState(usage, deps.quotasOf(session.tenant), session.budget);
    const { nanoCpus } = deps.decider.profileOf(session).limits;
    const timeoutMs = timeoutWithinBudgetMs(submission.timeoutMs, nanoCpus, budget);
    const request = { ...submission, timeoutMs, cwd: session.cwd };
    const question = { session, scopes: principal.scopes, request };
    return { ...(await deps.decider.decide({ ...question, budget })), request };
  };

  const build = async (
    principal: Principal,
    { session, usage }: { readonly session: Session; readonly usage: BudgetUsage },
    submission: Submission,
    traceparent: string | null,
  ): Promise<CommandRecord> => {
    let answer = await decideNow(principal, session, submission, usage);
    if (denyingLayer(answer.decision) === "budget") {
      // Whether there is room is for the admission to say: it knows a repeated submit, and names the quota.
      const request = { ...answer.request, timeoutMs: submission.timeoutMs };
      answer = { ...(await deps.decider.decide({ session, scopes: principal.scopes, request })), request };
    }
    const { profile, request } = answer;
    const { decision, bound } = await boundDecision(deps.bind, {
      session,
      request,
      decision: answer.decision,
      imageDigest: profile.imageDigest,
    });
    const nowMs = deps.clock.nowMs();
    const state = stateFor(decision);
    const id = deps.ids.next("cmd");
    const approvalId = bound === null ? null : approvalIdOf(id);
    return {
      id,
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
      approvalId,
      ...(bound === null || approvalId === null ? {} : { approval: pendingApproval(approvalId, bound) }),
      result: state === "finished" ? unstartedResult(neverStarted("denied", null)) : null,
      ...(state === "finished" ? {} : { charge: chargeFor(request.timeoutMs, profile.limits.nanoCpus) }),
      ...(session.webhook === undefined ? {} : { webhook: session.webhook }),
      ...(traceparent === null ? {} : { traceparent }),
    };
  };

  const step = <T>(name: string, of: Span, work: (span: Span) => Promise<T>): Promise<T> =>
    traced(deps.tracer, name, of.traceparent, work);

  /** Decides and admits; again where the session or the budget changed in between, so that no decision is older than its admission. */
  const decideAndAdmit = async (
    principal: Principal,
    sessionId: string,
    submission: Submission,
    { idempotency, waitMs }: SubmitOptions,
    span: Span,
  ): Promise<{ readonly record: CommandRecord; readonly answer: Settled }> => {
    for (let tries = 0; tries < MAX_DECISIONS; tries += 1) {
      const { session, record } = await step("decide", span, async (decide) => {
        const found = await find(principal, sessionId);
        const record = await build(principal, found, submission, span.traceparent);
        decide.set({ "bailiff.verdict": record.decision.verdict });
        return { session: found.session, record };
      });
      const answer = await step("admit", span, () =>
        deps.commands.admit({
          record,
          idempotency,
          quotas: deps.quotasOf(principal.tenant),
          sessionVersion: session.version,
          approvalExpiryMs: deps.approvalExpiryMs,
          isAwaited: waitMs > 0,
        }),
      );
      if (answer.kind === "session_changed" || answer.kind === "budget_changed") {
        deps.metrics.count("bailiff_decisions_repeated_total", { reason: answer.kind });
        continue;
      }
      for (const layer of record.decision.layers) {
        deps.metrics.count("bailiff_decisions_total", { layer: layer.layer, verdict: layer.verdict });
      }
      span.set({
        ...(answer.kind === "admitted" ? { "bailiff.command_id": record.id } : {}),
        "bailiff.session_id": session.id,
        "bailiff.tenant": record.tenant,
        "bailiff.admission": answer.kind,
      });
      return { record, answer };
    }
    throw new BailiffError("conflict", "the session kept changing while this was decided; send it again");
  };

  return {
    async submitCommand(principal, sessionId, submission, options) {
      const { record, answer } = await traced(deps.tracer, "submit", options.traceparent, (span) =>
        decideAndAdmit(principal, sessionId, submission, options, span),
      );
      if (answer.kind === "duplicate") {
        const original = await deps.commands.waitForEnd(answer.commandId, options.waitMs, options.signal);
        if (original === null) throw notFound("command");
        if (original.result?.outcome === "denied") throw deniedError(original);
        return { record: original, duplicate: true };
      }
      if (answer.kind === "joined") {
        deps.metrics.count("bailiff_approvals_joined_total");
        const standing = await deps.commands.get(answer.commandId);
        if (standing === null) throw notFound("command");
        return { record: standing, duplicate: false };
      }
      if (answer.kind !== "admitted") throw refusal(answer);
      deps.log.info(
        {
          command_id: record.id,
          session_id: record.sessionId,
          tenant: record.tenant,
          verdict: record.decision.verdict,
          state: record.state,
          ...traceFields(record.traceparent),
        },
        "command admitted",
      );
      if (record.result?.outcome === "denied") throw deniedError(record);
      if (record.state === "awaiting_approval") {
        // The end of its time is by the store's clock.
        return { record: (await deps.commands.get(record.id)) ?? record, duplicate: false };
      }
      const [latest] = await Promise.all([
        // Before the entry is there: who waits from now on misses no end.
        options.waitMs === 0
          ? null
          : deps.commands.waitForEnd(record.id, options.waitMs, options.signal, record),
        deps.enqueue(record, answer.priority),
      ]);
      return { record: latest ?? record, duplicate: false };
    },

    async explain(principal, sessionId, submission) {
      const { session, usage } = await find(principal, sessionId);
      const { decision, profile, request } = await decideNow(principal, session, submission, usage);
      const { imageDigest } = profile;
      return (await boundDecision(deps.bind, { session, request, decision, imageDigest })).decision;
    },
  };
}

function stateFor(decision: Decision): CommandRecord["state"] {
  if (decision.verdict === "deny") return "finished";
  return decision.verdict === "ask" ? "awaiting_approval" : "queued";
}

function denyingLayer(decision: Decision): LayerName | undefined {
  return decision.layers.find((layer) => layer.verdict === "deny")?.layer;
}

function refusal(answer: Exclude<Settled, { kind: "admitted" | "duplicate" | "joined" }>): BailiffError {
  switch (answer.kind) {
    case "idempotency_mismatch":
      return new BailiffError("idempotency_mismatch", "this Idempotency-Key came before with another body");
    case "session_gone":
      return notFound("session");
    case "grant_exhausted":
      return new BailiffError("grant_exhausted", "the session's grant is used up, expired or revoked");
    case "budget_exhausted":
      return new BailiffError(
        "budget_exhausted",
        `nothing is left of the session's ${answer.budget} time, or its unfinished commands hold the rest`,
        { extensions: { budget: `${answer.budget}_seconds` } },
      );
    case "quota": {
      const { name, unitMs } = QUOTAS[answer.quota];
      const limit = answer.limit / unitMs;
      return new BailiffError(codeOf(answer.quota), `the limit of ${limit} (${name}) is reached`, {
        retryAfterMs: answer.retryAfterMs,
        extensions: { quota: name, limit },
      });
    }
  }
}

function codeOf(quota: FullQuota): "overloaded" | "rate_limited" | "quota_exceeded" {
  if (quota === "totalQueued") return "overloaded";
  return quota === "tenantRequestsPerMinute" ? "rate_limited" : "quota_exceeded";
}

/** Quotas in the words and units of the configuration, which callers see. */
const QUOTAS: Readonly<Record<FullQuota, { readonly name: string; readonly unitMs: number }>> = {
  totalQueued: { name: "total_queued", unitMs: 1 },
  tenantQueued: { name: "queued", unitMs: 1 },
  tenantConcurrent: { name: "concurrent", unitMs: 1 },
  sessionQueued: { name: "session_queued", unitMs: 1 },
  sessionConcurrent: { name: "session_concurrent", unitMs: 1 },
  tenantRequestsPerMinute: { name: "requests_per_minute", unitMs: 1 },
  tenantDispatchesPerDay: { name: "dispatches_per_day", unitMs: 1 },
  tenantWallMsPerDay: { name: "wall_seconds_per_day", unitMs: 1000 },
  tenantCpuMsPerDay: { name: "cpu_seconds_per_day", unitMs: 1000 },
};
