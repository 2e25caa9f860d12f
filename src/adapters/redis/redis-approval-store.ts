import type { Redis } from "ioredis";
import type { ApprovalState } from "../../domain/approval/approval.js";
import { approvalExpiredResult } from "../../domain/result.js";
import type { ApprovalAnswer, ApprovalStore } from "../../ports/approval-store.js";
import type { CommandPlaces } from "./command-places.js";
import type { CommandScripts } from "./command-scripts.js";
import type { Keys } from "./keys.js";
import { listRecords } from "./list-records.js";
import { writeResult } from "./record-format.js";
import { redisNowMs } from "./redis-time.js";
import { orUnavailable } from "./store-failure.js";

/** Approvals as fields of their command's hash, changed by the scripts on commands. */
export function createRedisApprovalStore(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly places: CommandPlaces;
  readonly scripts: CommandScripts;
}): ApprovalStore {
  const { redis, keys, scripts } = deps;
  return {
    async list({ tenant, state, limit, cursor }) {
      const index = keys.tenantApprovals(tenant);
      return listRecords(redis, keys, {
        index,
        tenant,
        field: "approvalState",
        wanted: state,
        limit,
        cursor,
      });
    },

    async decide(wanted) {
      const place = await deps.places.find(wanted.commandId);
      if (place === null || place.tenant !== wanted.tenant) return { kind: "missing" };
      const reply = (await scripts.run("decide-approval", place, [
        wanted.decision,
        wanted.principalId,
        wanted.note ?? "",
        wanted.allowSelf ? "1" : "0",
        writeResult(wanted.deniedResult).result,
        writeResult(approvalExpiredResult()).result,
        place.tenant,
        String(wanted.tenantWeight),
        wanted.tenantConcurrent === null ? "" : String(wanted.tenantConcurrent),
      ])) as string[];
      if (reply[0] === "approved") await scripts.rebaseFrom(place.pool, Number(reply[2]));
      return approvalAnswer(reply);
    },

    async due(limit) {
      const nowMs = await redisNowMs(redis);
      return orUnavailable(() => redis.zrangebyscore(keys.approvalsDue, "-inf", nowMs, "LIMIT", 0, limit));
    },

    async expire(commandId) {
      const result = writeResult(approvalExpiredResult()).result;
      return (await scripts.runOn("expire-approval", commandId, [result], 0)) === 1;
    },
  };
}

function approvalAnswer(reply: readonly string[]): ApprovalAnswer {
  const [kind, first = "", limit = "", retryAfterMs = ""] = reply;
  switch (kind) {
    case "approved":
      return { kind, priority: Number(first) };
    case "settled":
      return { kind, state: first as ApprovalState };
    case "quota":
      return {
        kind,
        quota: first as "tenantConcurrent" | "sessionConcurrent",
        limit: Number(limit),
        retryAfterMs: Number(retryAfterMs),
      };
    case "denied":
    case "own":
    case "missing":
      return { kind };
    default:
      throw new Error(`decide-approval.lua answered ${String(kind)}`);
  }
}
