import type { Redis } from "ioredis";
import type { CommandRecord, CommandResult } from "../../domain/command.js";
import type { BudgetUsage } from "../../domain/decision/budget-state.js";
import { type Charge, usedTime } from "../../domain/decision/charge.js";
import { neverStarted } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
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
import type { CommandPlaces } from "./command-places.js";
import { createEndWaiters } from "./end-waiters.js";
import type { CommandPlace, Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import { LISTED_FIELDS, pairs, readRecord, writeRecord, writeResult } from "./record-format.js";
import { createRedisCommandChanges } from "./redis-command-changes.js";
import { closedMember, trimListings } from "./retention.js";
import type { RunScript, ScriptName } from "./scripts.js";
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

/** From this priority on a pool's fair queue is moved back; far below the highest that the queue can hold. */
const REBASE_FROM_PRIORITY = 1_000_000;
/** How many ids one listing looks at for a state before it answers with a cursor. */
const LIST_SCAN_LIMIT = 2_000;
const LIST_SCAN_BATCH = 200;
const TRIM_EVERY_MS = 10_000;

/** Commands in Redis: one hash each, changed by the scripts beside this file and by nothing else. */
export function createRedisCommandStore(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly runScript: RunScript;
  readonly places: CommandPlaces;
  readonly events: CommandEvents;
  readonly retention: Retention;
  readonly clock: Clock;
}): RedisCommandStore {
  const { redis, keys, retention } = deps;
  let nextTrimAtMs = 0;

  const run = (
    name: ScriptName,
    place: CommandPlace,
    args: readonly string[],
    moreKeys: readonly string[] = [],
  ) =>
    deps.runScript(
      name,
      [...keys.shared(place), ...moreKeys],
      [
        keys.changedChannel,
        keys.cancelChannel,
        place.commandId,
        closedMember(place),
        String(retention.resultTtlMs),
        ...args,
      ],
    );

  /** Runs a script on an existing command; `missing` where there is none. */
  const runOn = async <T>(
    name: ScriptName,
    commandId: string,
    args: readonly string[],
    missing: T,
  ): Promise<unknown> => {
    const place = await deps.places.find(commandId);
    return place === null ? missing : run(name, place, args);
  };

  /** Trimming rides on the ends of commands: what ends makes what has to be trimmed. */
  const trimSometimes = () => {
    const nowMs = deps.clock.nowMs();
    if (nowMs < nextTrimAtMs) return;
    nextTrimAtMs = nowMs + TRIM_EVERY_MS;
    trimListings(redis, keys).catch(() => undefined);
  };

  const get = async (commandId: string): Promise<CommandRecord | null> =>
    readRecord(await orUnavailable(() => redis.hgetall(keys.command(commandId))));

  const readStates = async (commandIds: readonly string[]): Promise<(string | null)[]> => {
    const pipeline = redis.pipeline();
    for (const id of commandIds) pipeline.hget(keys.command(id), "state");
    return (await runPipeline(pipeline)) as (string | null)[];
  };

  const readListed = async (commandIds: readonly string[]): Promise<(CommandRecord | null)[]> => {
    const pipeline = redis.pipeline();
    for (const id of commandIds) pipeline.hmget(keys.command(id), ...LISTED_FIELDS);
    const rows = (await runPipeline(pipeline)) as (string | null)[][];
    return rows.map((row) =>
      readRecord(Object.fromEntries(LISTED_FIELDS.map((name, i) => [name, row[i] ?? null]))),
    );
  };

  const readSigns = async (commandIds: readonly string[]) => {
    const pipeline = redis.pipeline();
    for (const id of commandIds) pipeline.hmget(keys.command(id), "state", "cancelRequested");
    const rows = (await runPipeline(pipeline)) as (string | null)[][];
    return rows.map(([state, cancel]) => (state ? { state, cancelRequested: cancel === "1" } : null));
  };

  const watch = createChangeWatch({ events: deps.events, readSigns });
  const waiters = createEndWaiters({ watch, read: get });
  const changes = createRedisCommandChanges({
    watch,
    read: async (commandId) => (await readListed([commandId]))[0] ?? null,
  });

  return {
    async admit({ record, idempotency, quotas, sessionVersion }) {
      const place = placeOf(record);
      const reply = (await run(
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
          ...Object.entries(writeRecord(record)).flat(),
        ],
        [
          keys.tenantIndex(record.tenant),
          keys.sessionIndex(record.sessionId),
          keys.idempotency(record.tenant, idempotency?.key ?? ""),
          keys.rate(record.tenant),
        ],
      )) as string[];
      if (reply[0] === "admitted" && Number(reply[2]) >= REBASE_FROM_PRIORITY) {
        await deps.runScript(
          "rebase-priorities",
          [keys.poolFair(record.pool), keys.prioritized(record.pool)],
          [],
        );
      }
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

    async list({ tenant, sessionId, state, limit, cursor }): Promise<CommandPage> {
      const index = sessionId === null ? keys.tenantIndex(tenant) : keys.sessionIndex(sessionId);
      const records: CommandRecord[] = [];
      let after = cursor;
      for (let scanned = 0; scanned < LIST_SCAN_LIMIT; scanned += LIST_SCAN_BATCH) {
        const ids = await orUnavailable(() =>
          redis.zrevrangebylex(index, after === null ? "+" : `(${after}`, "-", "LIMIT", 0, LIST_SCAN_BATCH),
        );
        const states = await readStates(ids);
        const wanted = ids.filter((_, i) => states[i] !== null && (state === null || states[i] === state));
        for (const record of await readListed(wanted.slice(0, limit - records.length))) {
          // A session's id is not yet a right to see its commands.
          if (record?.tenant === tenant) records.push(record);
        }
        const last = records.at(-1)?.id ?? null;
        if (records.length >= limit)
          return { records, nextCursor: last === ids.at(-1) && ids.length < LIST_SCAN_BATCH ? null : last };
        if (ids.length < LIST_SCAN_BATCH) return { records, nextCursor: null };
        after = ids.at(-1) ?? null;
      }
      return { records, nextCursor: after };
    },

    async claim({ commandId, workerId, fence, containerId, seen }): Promise<ClaimAnswer> {
      const denied = writeResult(
        unstartedResult(neverStarted("denied", "at dispatch: the session's grant is revoked or expired")),
      );
      const cancelled = writeResult(unstartedResult(neverStarted("cancelled", "the session was removed")));
      const reply = (await runOn(
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
      return (await runOn("give-back", commandId, [fence], 0)) === 1;
    },

    async finish(commandId, fence, result) {
      const written = writeResult(result);
      const isNeverStarted = result.effect === "none" && result.outcome !== "start_failed";
      const { wallMs, cpuMs } = usedTime(result);
      const used = [wallMs, cpuMs].map((each) => (each === null ? "" : String(each)));
      const args = [fence, written.result, written.output, isNeverStarted ? "1" : "0", ...used];
      const stands = (await runOn("finish", commandId, args, 0)) === 1;
      trimSometimes();
      return stands;
    },

    async endUnstarted(commandId, result: CommandResult) {
      const ended = (await runOn("end-unstarted", commandId, [writeResult(result).result], 0)) === 1;
      trimSometimes();
      return ended;
    },

    async requestCancel(commandId, result) {
      return (await runOn(
        "request-cancel",
        commandId,
        [writeResult(result).result],
        "missing",
      )) as CancelAnswer;
    },

    waitForEnd: (commandId, waitMs, signal) => waiters.wait(commandId, waitMs, signal),

    changes,

    close() {
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
