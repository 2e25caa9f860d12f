import type { Redis } from "ioredis";
import type { CommandRecord, CommandResult } from "../../domain/command.js";
import type { BudgetUsage } from "../../domain/decision/budget-state.js";
import { type Charge, usedTime } from "../../domain/decision/charge.js";
import { neverStarted } from "../../domain/outcome.js";
import { approvalExpiredResult, unstartedResult } from "../../domain/result.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandChanges } from "../../ports/command-changes.js";
import type {
  AdmissionAnswer,
  AdmissionQuotas,
  CancelAnswer,
  ClaimAnswer,
  CommandPage,
  CommandStore,
  FullQuota,
} from "../../ports/command-store.js";
import { createChangeWatch } from "./change-watch.js";
import type { CommandEvents } from "./command-events.js";
import type { CommandScripts } from "./command-scripts.js";
import { createEndWaiters } from "./end-waiters.js";
import type { CommandPlace, Keys } from "./keys.js";
import { listRecords } from "./list-records.js";
import { runPipeline } from "./pipeline.js";
import { readListed } from "./read-listed.js";
import { pairs, readRecord, writeRecord, writeResult } from "./record-format.js";
import { createRedisCommandChanges } from "./redis-command-changes.js";
import { trimListings } from "./retention.js";
import { writeLabel } from "./session-format.js";
import { orUnavailable } from "./store-failure.js";

/** How long things are kept. */
export interface Retention {
  /** Records and results, from the end of the command. */
  readonly resultTtlMs: number;
  /** Idempotency keys, from the first submit; at most `resultTtlMs` makes sense. */
  readonly idempotencyTtlMs: number;
}

/** The command store and what ends with it. */
export interface RedisCommandStore extends CommandStore {
  readonly changes: CommandChanges;
  /** Ends every wait and every watch. The connections belong to the caller. */
  close(): void;
}

const TRIM_EVERY_MS = 10_000;

/** Commands in Redis: one hash each, changed by the scripts beside this file and by nothing else. */
export function createRedisCommandStore(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly scripts: CommandScripts;
  /** The same, for what has to survive a failover. */
  readonly claimScripts: CommandScripts;
  readonly events: CommandEvents;
  /** As `events` knows this process. */
  readonly processToken: string;
  readonly retention: Retention;
  readonly clock: Clock;
}): RedisCommandStore {
  const { redis, keys, retention, scripts } = deps;
  let nextTrimAtMs = 0;

  /** Trimming rides on the ends of commands too: a busy deployment has more to trim than a round should find. */
  const trimSometimes = () => {
    const nowMs = deps.clock.nowMs();
    if (nowMs < nextTrimAtMs) return;
    nextTrimAtMs = nowMs + TRIM_EVERY_MS;
    trimListings(redis, keys).catch(() => undefined);
  };

  const get = async (commandId: string): Promise<CommandRecord | null> => {
    const record = readRecord(await orUnavailable(() => redis.hgetall(keys.command(commandId))));
    if (record !== null) scripts.placed(placeOf(record));
    return record;
  };

  const readSigns = async (commandIds: readonly string[]) => {
    const pipeline = redis.pipeline();
    for (const id of commandIds) pipeline.hmget(keys.command(id), "state", "cancelRequested");
    const rows = (await runPipeline(pipeline)) as (string | null)[][];
    return rows.map(([state, cancel]) => (state ? { state, cancelRequested: cancel === "1" } : null));
  };

  const watch = createChangeWatch({ events: deps.events, readSigns });
  const waiters = createEndWaiters({ watch, read: get });
  const stopHearingEnds = deps.events.onEnd((fields) => {
    let record: CommandRecord | null;
    try {
      record = readRecord(pairs(fields));
    } catch {
      // The news that follows has it read, and whoever reads it is told what is wrong with it.
      return;
    }
    if (record?.state === "finished") waiters.ended(record);
  });
  const changes = createRedisCommandChanges({
    watch,
    read: async (commandId) => (await readListed(redis, keys, [commandId]))[0] ?? null,
  });

  return {
    async admit({ record, idempotency, quotas, sessionVersion, approvalExpiryMs, isAwaited }) {
      const place = placeOf(record);
      const reply = (await scripts.run(
        "admit",
        place,
        [
          record.tenant,
          record.state,
          idempotency?.bodyHash ?? "",
          String(retention.idempotencyTtlMs),
          ...quotaArguments(quotas),
          record.decision.grantedVector === undefined ? "" : String(record.decision.grantedVector),
          sessionVersion === null ? "" : String(sessionVersion),
          record.decision.effectiveLabel === undefined ? "" : writeLabel(record.decision.effectiveLabel),
          ...chargeArguments(record.charge),
          ...approvalArguments(record, approvalExpiryMs),
          ...Object.entries(writeRecord(record)).flat(),
          ...(isAwaited ? ["answerTo", deps.processToken] : []),
        ],
        [
          keys.tenantIndex(record.tenant),
          keys.sessionIndex(record.sessionId),
          keys.idempotency(record.tenant, idempotency?.key ?? ""),
          keys.rate(record.tenant),
          keys.tenantApprovals(record.tenant),
        ],
      )) as string[];
      if (reply[0] === "admitted") await scripts.rebaseFrom(record.pool, Number(reply[2]));
      if (record.state === "finished") trimSometimes();
      return admissionAnswer(reply);
    },

    get,

    async usage(tenant, sessionId) {
      const pipeline = redis
        .pipeline()
        .scard(keys.tenantWaiting(tenant))
        .scard(keys.tenantInFlight(tenant))
        .scard(keys.sessionWaiting(sessionId))
        .scard(keys.sessionInFlight(sessionId))
        .zcard(keys.queued)
        .zcard(keys.awaiting)
        .get(keys.rate(tenant))
        .hmget(keys.tenantUsage(tenant), "day", "dispatches", "wallMs", "cpuMs")
        .time();
      return budgetUsage(await runPipeline(pipeline));
    },

    async counts() {
      const pipeline = redis.pipeline().zcard(keys.awaiting).zcard(keys.queued).zcard(keys.dispatched);
      const [awaiting = 0, queued = 0, dispatched = 0] = (await runPipeline(pipeline)) as number[];
      return { awaiting_approval: awaiting, queued, dispatched };
    },

    async list({ tenant, sessionId, state, limit, cursor }): Promise<CommandPage> {
      const index = sessionId === null ? keys.tenantIndex(tenant) : keys.sessionIndex(sessionId);
      return listRecords(redis, keys, { index, tenant, field: "state", wanted: state, limit, cursor });
    },

    async claim({ commandId, workerId, fence, containerId, seen }): Promise<ClaimAnswer> {
      const denied = writeResult(
        unstartedResult(neverStarted("denied", "at dispatch: the session's grant is revoked or expired")),
      );
      const expired = writeResult(approvalExpiredResult());
      const cancelled = writeResult(unstartedResult(neverStarted("cancelled", "the session was removed")));
      const reply = (await deps.claimScripts.runOn(
        "claim",
        commandId,
        [
          workerId,
          fence,
          containerId,
          cancelled.result,
          denied.result,
          seen === null ? "" : String(seen.sessionVersion),
          seen === null ? "" : writeLabel(seen.label),
          expired.result,
        ],
        ["not_queued", "missing"],
      )) as [string, unknown?];
      if (reply[0] === "no_lease" || reply[0] === "session_changed") return { kind: reply[0] };
      if (reply[0] !== "claimed")
        return { kind: "not_queued", state: reply[1] as CommandRecord["state"] | "missing" };
      const record = readRecord(pairs(reply[1] as string[]));
      if (record === null) throw new Error(`claimed command ${commandId} has no record`);
      return { kind: "claimed", fence, record };
    },

    async giveBack(commandId, fence) {
      return (await scripts.runOn("give-back", commandId, [fence], 0)) === 1;
    },

    async finish(commandId, fence, result) {
      const written = writeResult(result);
      const isNeverStarted = result.effect === "none" && result.outcome !== "start_failed";
      const { wallMs, cpuMs } = usedTime(result);
      const used = [wallMs, cpuMs].map((each) => (each === null ? "" : String(each)));
      const args = [fence, written.result, written.output, isNeverStarted ? "1" : "0", ...used];
      const stands = (await scripts.runOn("finish", commandId, args, 0)) === 1;
      trimSometimes();
      return stands;
    },

    async endUnstarted(commandId, result: CommandResult) {
      const ended = (await scripts.runOn("end-unstarted", commandId, [writeResult(result).result], 0)) === 1;
      trimSometimes();
      return ended;
    },

    async requestCancel(commandId, result) {
      return (await scripts.runOn(
        "request-cancel",
        commandId,
        [writeResult(result).result],
        "missing",
      )) as CancelAnswer;
    },

    trim: () => trimListings(redis, keys),

    waitForEnd: waiters.wait,

    changes,

    close() {
      stopHearingEnds();
      waiters.close();
      changes.close();
      watch.close();
    },
  };
}

function placeOf(record: CommandRecord): CommandPlace {
  return { commandId: record.id, tenant: record.tenant, sessionId: record.sessionId, pool: record.pool };
}

/** In the order of `scripts/admit.lua`; no bound is an empty argument. */
function quotaArguments(quotas: AdmissionQuotas): string[] {
  return [
    quotas.tenantQueued,
    quotas.tenantConcurrent,
    quotas.sessionQueued,
    quotas.tenantRequestsPerMinute,
    quotas.totalQueued,
    quotas.tenantDispatchesPerDay,
    quotas.tenantWallMsPerDay,
    quotas.tenantCpuMsPerDay,
    quotas.tenantWeight,
  ].map((bound) => (bound === null ? "" : String(bound)));
}

function approvalArguments({ approval, principalId }: CommandRecord, expiryMs: number | undefined): string[] {
  if (approval === undefined) return ["", "", ""];
  if (expiryMs === undefined) throw new Error("a command that waits for a person needs an end of its wait");
  return [approval.binding, String(expiryMs), principalId];
}

/** The charge, and the least CPU time that any command is charged: that of a millisecond. */
function chargeArguments(charge: Charge | undefined): string[] {
  if (charge === undefined) return ["0", "0", "0"];
  const least = charge.wallMs === 0 ? 0 : Math.ceil(charge.cpuMs / charge.wallMs);
  return [charge.wallMs, charge.cpuMs, least].map(String);
}

const DAY_MS = 24 * 3_600_000;

function budgetUsage(replies: readonly unknown[]): BudgetUsage {
  const [
    tenantQueued,
    tenantInFlight,
    sessionQueued,
    sessionInFlight,
    queued,
    awaiting,
    arrival,
    spent,
    time,
  ] = replies as [number, number, number, number, number, number, string | null, (string | null)[], string[]];
  const nowMs = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
  const day = Math.floor(nowMs / DAY_MS);
  const [storedDay, dispatches, wallMs, cpuMs] = spent.map(Number);
  const isToday = (storedDay ?? 0) >= day;
  return {
    tenantQueued,
    tenantInFlight,
    sessionQueued,
    sessionInFlight,
    totalQueued: queued + awaiting,
    rateAheadMs: Math.max(0, Number(arrival ?? 0) - nowMs),
    today: isToday
      ? { dispatches: dispatches ?? 0, wallMs: wallMs ?? 0, cpuMs: cpuMs ?? 0 }
      : { dispatches: 0, wallMs: 0, cpuMs: 0 },
    msUntilTomorrow: (Math.max(day, storedDay ?? 0) + 1) * DAY_MS - nowMs,
  };
}

function admissionAnswer(reply: readonly string[]): AdmissionAnswer {
  const [kind, first = "", limit = "", retryAfterMs = ""] = reply;
  switch (kind) {
    case "admitted":
      return { kind, priority: Number(first) };
    case "duplicate":
    case "joined":
      return { kind, commandId: first };
    case "quota":
      return {
        kind,
        quota: first as FullQuota,
        limit: Number(limit),
        retryAfterMs: Number(retryAfterMs),
      };
    case "budget_exhausted":
      return { kind, budget: first as "wall" | "cpu" };
    case "session_changed":
    case "budget_changed":
    case "idempotency_mismatch":
    case "session_gone":
    case "grant_exhausted":
      return { kind };
    default:
      throw new Error(`admit.lua answered ${String(kind)}`);
  }
}
