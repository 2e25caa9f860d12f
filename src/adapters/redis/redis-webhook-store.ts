import type { Redis } from "ioredis";
import { WEBHOOK_EVENTS, type WebhookDelivery, type WebhookEvent } from "../../domain/webhook/webhook.js";
import type { DueDelivery, WebhookStore } from "../../ports/webhook-store.js";
import type { CommandEvents } from "./command-events.js";
import type { Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import type { RunScript } from "./scripts.js";
import { orUnavailable } from "./store-failure.js";

const SEPARATOR = "|";

/**
 * Deliveries in Redis: one sorted set of what is due when, which the scripts on commands add to, and one hash per delivery once
 * an attempt was made.
 */
export function createRedisWebhookStore(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly runScript: RunScript;
  readonly events: CommandEvents;
  /** From the last attempt on; as long as results. */
  readonly resultTtlMs: number;
}): WebhookStore {
  const { redis, keys } = deps;
  const ttl = String(deps.resultTtlMs);
  const keysOf = ({ commandId, event }: DueDelivery) => [
    keys.webhooksDue,
    keys.webhookDelivery(commandId, event),
  ];

  return {
    async due(limit) {
      const [seconds] = await orUnavailable(() => redis.time());
      // The whole second that has begun: the claim looks again, to the millisecond.
      const members = await orUnavailable(() =>
        redis.zrangebyscore(keys.webhooksDue, "-inf", (Number(seconds) + 1) * 1000, "LIMIT", 0, limit),
      );
      return members.flatMap((member) => readMember(member) ?? []);
    },

    async claim(delivery, holder, leaseMs) {
      const reply = await deps.runScript("claim-webhook", keysOf(delivery), [
        memberOf(delivery),
        holder,
        String(leaseMs),
        ttl,
      ]);
      if (!Array.isArray(reply)) return null;
      return { attempts: Number(reply[0]), ageMs: Number(reply[1]) };
    },

    async settle(delivery, holder, { state, retryMs, status, errorCode }) {
      const reply = await deps.runScript("settle-webhook", keysOf(delivery), [
        memberOf(delivery),
        holder,
        state,
        retryMs === null ? "" : String(retryMs),
        status === null ? "" : String(status),
        errorCode ?? "",
        ttl,
      ]);
      return reply === 1;
    },

    async stateOf(command, events) {
      // The latest event that was told of or is to be told of is the one that counts.
      const latestFirst = WEBHOOK_EVENTS.filter((event) => events.includes(event)).toReversed();
      const pipeline = redis.pipeline();
      for (const event of latestFirst) {
        pipeline.hgetall(keys.webhookDelivery(command.commandId, event));
        pipeline.zscore(keys.webhooksDue, memberOf({ ...command, event }));
      }
      const replies = await runPipeline(pipeline);
      for (const [index, event] of latestFirst.entries()) {
        const fields = replies[2 * index] as Record<string, string>;
        const due = replies[2 * index + 1] as string | null;
        if (due !== null || fields["state"] !== undefined) return readDelivery(event, fields, due);
      }
      return null;
    },

    onOwed: (listener) => deps.events.onOwed(listener),
  };
}

/** None of its parts can hold the separator; `scripts/shared.lua` writes the same. */
function memberOf({ commandId, tenant, sessionId, event }: DueDelivery): string {
  return [commandId, tenant, sessionId, event].join(SEPARATOR);
}

function readMember(member: string): DueDelivery | null {
  const [commandId, tenant, sessionId, event] = member.split(SEPARATOR);
  const known = WEBHOOK_EVENTS.find((one) => one === event);
  if (!commandId || !tenant || !sessionId || known === undefined) return null;
  return { commandId, tenant, sessionId, event: known };
}

function readDelivery(
  event: WebhookEvent,
  fields: Readonly<Record<string, string>>,
  due: string | null,
): WebhookDelivery {
  const number = (name: string) => (fields[name] === undefined ? null : Number(fields[name]));
  return {
    event,
    state: (fields["state"] as WebhookDelivery["state"] | undefined) ?? "pending",
    attempts: number("attempts") ?? 0,
    lastStatus: number("lastStatus"),
    lastErrorCode: fields["lastErrorCode"] ?? null,
    nextAttemptAtMs: due === null ? null : Number(due),
    deliveredAtMs: number("deliveredAtMs"),
  };
}
