import { commandIdOf } from "../../domain/approval/approval.js";
import type { CommandRecord } from "../../domain/command.js";
import { BailiffError } from "../../domain/errors.js";
import { neverStarted } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
import type { ApprovalAnswer, ApprovalStore } from "../../ports/approval-store.js";
import type { Principal } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandStore } from "../../ports/command-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import { notFound, requireId, requireScope } from "../access.js";
import type { BailiffServices } from "../services.js";
import type { EnqueueAdmitted } from "../submit/enqueue-admitted.js";

/** Use cases of the people who decide. */
export function createApprovalServices(deps: {
  readonly approvals: ApprovalStore;
  readonly commands: Pick<CommandStore, "get">;
  readonly enqueue: EnqueueAdmitted;
  /** Whether one who asked may approve. */
  readonly allowSelf: boolean;
  readonly termsOf: (tenant: string) => {
    readonly tenantWeight: number;
    readonly tenantConcurrent: number | null;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): Pick<BailiffServices, "listApprovals" | "getApproval" | "decideApproval"> {
  const find = async (principal: Principal, approvalId: string): Promise<CommandRecord> => {
    requireId("apr", "approval", approvalId);
    const record = await deps.commands.get(commandIdOf(approvalId));
    if (record?.approval === undefined || record.tenant !== principal.tenant) throw notFound("approval");
    return record;
  };

  return {
    async listApprovals(principal, query) {
      requireScope(principal, "approvals:read");
      return deps.approvals.list({ tenant: principal.tenant, ...query });
    },

    async getApproval(principal, approvalId) {
      requireScope(principal, "approvals:read");
      const record = await find(principal, approvalId);
      const { state, expiresAtMs } = record.approval ?? {};
      const isOpen = state === "pending" || state === "approved";
      if (!isOpen || (expiresAtMs ?? Infinity) > deps.clock.nowMs()) return record;
      // Nobody should look at an offer that no longer stands; whether its time is over is for the store to say.
      await deps.approvals.expire(record.id);
      return find(principal, approvalId);
    },

    async decideApproval(principal, approvalId, { decision, note }) {
      requireScope(principal, "approvals:decide");
      const record = await find(principal, approvalId);
      const answer = await deps.approvals.decide({
        commandId: record.id,
        tenant: principal.tenant,
        decision,
        principalId: principal.id,
        note,
        allowSelf: deps.allowSelf,
        ...deps.termsOf(principal.tenant),
        deniedResult: unstartedResult(neverStarted("approval_denied", "a person denied it")),
      });
      if (answer.kind !== "approved" && answer.kind !== "denied") throw refusal(answer);
      deps.metrics.count("bailiff_approvals_decided_total", { decision: answer.kind });
      deps.log.info(
        { command_id: record.id, approval_id: approvalId, tenant: record.tenant, decision: answer.kind },
        "approval decided",
      );
      if (answer.kind === "approved") await deps.enqueue(record, answer.priority);
      return find(principal, approvalId);
    },
  };
}

function refusal(answer: Exclude<ApprovalAnswer, { kind: "approved" | "denied" }>): BailiffError {
  switch (answer.kind) {
    case "missing":
      return notFound("approval");
    case "settled":
      return new BailiffError("conflict", `the approval is ${answer.state} already`, {
        extensions: { approval_state: answer.state },
      });
    case "own":
      return new BailiffError(
        "conflict",
        "who asked for a command can't approve it; another principal has to",
        {
          extensions: { approval_state: "pending" },
        },
      );
    case "quota": {
      const quota = answer.quota === "tenantConcurrent" ? "concurrent" : "session_concurrent";
      return new BailiffError(
        "quota_exceeded",
        `the limit of ${answer.limit} (${quota}) is reached; the approval still waits`,
        { retryAfterMs: answer.retryAfterMs, extensions: { quota, limit: answer.limit } },
      );
    }
  }
}
