import type { Redis } from "ioredis";
import type { CommandRecord } from "../../domain/command.js";
import type { LeaseStore, Orphan } from "../../ports/command-store.js";
import type { CommandPlaces } from "./command-places.js";
import type { Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import { isKnownFormat, readRecord, writeResult } from "./record-format.js";
import { redisNowMs } from "./redis-time.js";
import { closedMember } from "./retention.js";
import type { RunScript } from "./scripts.js";
import { orUnavailable } from "./store-failure.js";
import { readWorker, writeWorkerStatus } from "./worker-format.js";

/** A lease that ended this long ago is of interest to nobody: its commands carry their engine's id themselves. */
const FORGET_LEASE_AFTER_MS = 24 * 3_600_000;
const SCAN_BATCH = 500;

/** Leases as a sorted set by the time they end, and what is found by comparing it with the commands. */
export function createRedisLeaseStore(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly runScript: RunScript;
  readonly places: CommandPlaces;
  readonly resultTtlMs: number;
}): LeaseStore {
  const { redis, keys } = deps;

  const liveWorkers = (nowMs: number) =>
    orUnavailable(() => redis.zrangebyscore(keys.leases, `(${nowMs}`, "+inf"));

  const dispatchedBefore = (untilMs: number) =>
    orUnavailable(() => redis.zrangebyscore(keys.dispatched, "-inf", untilMs, "LIMIT", 0, SCAN_BATCH));

  /** All members up to a score, oldest first, in batches; members that vanish between batches do no harm. */
  async function* oldest(key: string, untilMs: number | "+inf"): AsyncGenerator<string[]> {
    for (let offset = 0; ; offset += SCAN_BATCH) {
      const ids = await orUnavailable(() =>
        redis.zrangebyscore(key, "-inf", untilMs, "LIMIT", offset, SCAN_BATCH),
      );
      if (ids.length > 0) yield ids;
      if (ids.length < SCAN_BATCH) return;
    }
  }

  const readField = async (commandIds: readonly string[], field: string): Promise<(string | null)[]> => {
    const pipeline = redis.pipeline();
    for (const id of commandIds) pipeline.hget(keys.command(id), field);
    return (await runPipeline(pipeline)) as (string | null)[];
  };

  return {
    async heartbeat({ workerId, engineId, leaseMs, status }) {
      await deps.runScript(
        "heartbeat",
        [keys.leases, keys.engines, keys.workers],
        [workerId, engineId, String(leaseMs), String(FORGET_LEASE_AFTER_MS), writeWorkerStatus(status)],
      );
    },

    async leave(workerId) {
      await runPipeline(
        redis
          .pipeline()
          .zrem(keys.leases, workerId)
          .hdel(keys.engines, workerId)
          .hdel(keys.workers, workerId),
      );
    },

    async workers(limit) {
      const nowMs = await redisNowMs(redis);
      const listed = await orUnavailable(() =>
        redis.zrevrange(keys.leases, 0, Math.max(0, limit - 1), "WITHSCORES"),
      );
      const leases = pairUp(listed);
      if (leases.length === 0) return [];
      const texts = await orUnavailable(() => redis.hmget(keys.workers, ...leases.map(([id]) => id)));
      return leases.flatMap(([id, until], i) => readWorker(id, texts[i] ?? "", Number(until), nowMs) ?? []);
    },

    async isAlive(workerId) {
      const until = await orUnavailable(() => redis.zscore(keys.leases, workerId));
      return until !== null && Number(until) > (await redisNowMs(redis));
    },

    async liveEngines() {
      const workers = await liveWorkers(await redisNowMs(redis));
      if (workers.length === 0) return new Set();
      const engines = await orUnavailable(() => redis.hmget(keys.engines, ...workers));
      return new Set(engines.filter((engine) => engine !== null));
    },

    async orphaned(limit, overdueMs) {
      const nowMs = await redisNowMs(redis);
      const live = new Set(await liveWorkers(nowMs));
      const overdue = new Set(overdueMs === undefined ? [] : await dispatchedBefore(nowMs - overdueMs));
      const found: Orphan[] = [];
      for await (const ids of oldest(keys.dispatched, "+inf")) {
        const holders = await readField(ids, "workerId");
        for (const [i, id] of ids.entries()) {
          const holder = holders[i];
          if (typeof holder !== "string" || (live.has(holder) && !overdue.has(id))) continue;
          const fields = await orUnavailable(() => redis.hgetall(keys.command(id)));
          if (!isKnownFormat(fields)) continue;
          const record = readRecord(fields);
          if (record?.state !== "dispatched" || record.workerId !== holder) continue;
          found.push({
            record,
            engineId: fields["engineId"] || null,
            dispatchedForMs: nowMs - (record.dispatchedAtMs ?? nowMs),
            isOverdue: live.has(holder),
          });
          if (found.length === limit) return found;
        }
      }
      return found;
    },

    async unqueued(olderThanMs, limit) {
      const nowMs = await redisNowMs(redis);
      const found: CommandRecord[] = [];
      for await (const ids of oldest(keys.queued, nowMs - olderThanMs)) {
        const pools = await readField(ids, "pool");
        const pipeline = redis.pipeline();
        for (const [i, id] of ids.entries()) pipeline.exists(keys.envelope(pools[i] ?? "", id));
        const hasEnvelope = await runPipeline(pipeline);
        for (const [i, id] of ids.entries()) {
          if (hasEnvelope[i] !== 0) continue;
          const fields = await orUnavailable(() => redis.hgetall(keys.command(id)));
          if (!isKnownFormat(fields)) continue;
          const record = readRecord(fields);
          if (record?.state !== "queued") continue;
          found.push(record);
          if (found.length === limit) return found;
        }
      }
      return found;
    },

    async declareLost(commandId, fence, result, overdueMs) {
      const place = await deps.places.find(commandId);
      if (place === null) return false;
      const written = writeResult(result);
      const reply = await deps.runScript(
        "declare-lost",
        [...keys.shared(place), keys.evidenceOutbox],
        [
          keys.changedChannel,
          keys.cancelChannel,
          commandId,
          closedMember(place),
          String(deps.resultTtlMs),
          fence,
          written.result,
          written.output,
          overdueMs === undefined ? "" : String(overdueMs),
        ],
      );
      return reply === 1;
    },

    async lead(role, holder, leaseMs) {
      return (await deps.runScript("lead", [keys.lead(role)], [holder, String(leaseMs)])) === 1;
    },
  };
}

function pairUp(flat: readonly string[]): (readonly [string, string])[] {
  return flat.flatMap((first, i) => (i % 2 === 0 ? [[first, flat[i + 1] ?? ""] as const] : []));
}
