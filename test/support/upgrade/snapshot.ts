import type { Redis } from "ioredis";
import { pairs } from "../../../src/adapters/redis/record-format.js";

/** One key as a person can read it; `ttlMs` is what was left of its time. */
type KeptKey = { readonly ttlMs?: number } & (
  | { readonly string: string }
  | { readonly hash: Readonly<Record<string, string>> }
  | { readonly set: readonly string[] }
  | { readonly list: readonly string[] }
  | { readonly zset: Readonly<Record<string, string>> }
  | { readonly stream: Readonly<Record<string, Readonly<Record<string, string>>>> }
);

/** Everything that one deployment has in Redis, by its keys behind the deployment's prefix. */
export interface Snapshot {
  readonly takenAtMs: number;
  readonly keys: Readonly<Record<string, KeptKey>>;
}

/** What `record-deployment.ts` leaves for a test of the next format. */
export interface KeptDeployment {
  readonly sessions: { readonly granted: string; readonly asking: string };
  /** Those that had not ended. */
  readonly commands: Readonly<
    Record<"queued" | "withdrawn" | "dispatched" | "cancelling" | "pending" | "approved", string>
  >;
  /** What the API said of those that had, but for the decision, which is in the record. */
  readonly finished: Readonly<Record<string, unknown>>;
  readonly snapshot: Snapshot;
}

const prefixOf = (deployment: string) => `{bailiff:${deployment}}:`;
const DAY_MS = 24 * 3_600_000;

/** The least length of a text that is kept once where it comes again. */
const SHARED_LENGTH = 60;

/** Reads all of a deployment in which nothing changes. */
export async function takeSnapshot(redis: Redis, deployment: string): Promise<Snapshot> {
  const prefix = prefixOf(deployment);
  const keys: Record<string, KeptKey> = {};
  for (const key of (await redis.keys(`${prefix}*`)).sort()) {
    const ttlMs = await redis.pttl(key);
    keys[key.slice(prefix.length)] = { ...(ttlMs < 0 ? {} : { ttlMs }), ...(await readKey(redis, key)) };
  }
  return { takenAtMs: Date.now(), keys };
}

/**
 * Writes a snapshot as a deployment of that name. Its times are moved on, so that it looks as if it had been taken just now:
 * what waited for a person has not waited since then.
 */
export async function restoreSnapshot(redis: Redis, deployment: string, snapshot: Snapshot): Promise<void> {
  const laterMs = Date.now() - snapshot.takenAtMs;
  const moved = JSON.stringify(snapshot.keys).replace(/\b\d{13}\b/g, (digits) =>
    Math.abs(Number(digits) - snapshot.takenAtMs) < 40 * DAY_MS ? String(Number(digits) + laterMs) : digits,
  );
  const keys: Snapshot["keys"] = JSON.parse(moved);
  for (const [name, kept] of Object.entries(keys)) {
    const key = prefixOf(deployment) + name;
    await writeKey(redis, key, kept);
    if (kept.ttlMs !== undefined) await redis.pexpire(key, kept.ttlMs);
  }
}

/** A value as JSON for a file: each long text that comes again stands in `texts`, and `text:N` in its places. */
export function writeShared(value: KeptDeployment): string {
  const seen = new Map<string, number>();
  JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "string" && each.length >= SHARED_LENGTH) seen.set(each, (seen.get(each) ?? 0) + 1);
    return each;
  });
  const texts = [...seen].filter(([, times]) => times > 1).map(([text]) => text);
  const share = (_: string, each: unknown) =>
    typeof each === "string" && texts.includes(each) ? `text:${texts.indexOf(each)}` : each;
  const shared = JSON.parse(JSON.stringify(value, share));
  return `${JSON.stringify({ ...shared, texts }, null, 1)}\n`;
}

/** The value of a file of `writeShared`. */
export function readShared(json: string): KeptDeployment {
  const { texts, ...shared }: { texts: string[] } = JSON.parse(json);
  return JSON.parse(JSON.stringify(shared), (_, each: unknown) =>
    typeof each === "string" && /^text:\d+$/.test(each) ? texts[Number(each.slice(5))] : each,
  );
}

async function readKey(redis: Redis, key: string): Promise<KeptKey> {
  const type = await redis.type(key);
  switch (type) {
    case "string":
      return { string: (await redis.get(key)) ?? "" };
    case "hash":
      return { hash: await redis.hgetall(key) };
    case "set":
      return { set: (await redis.smembers(key)).sort() };
    case "list":
      return { list: await redis.lrange(key, 0, -1) };
    case "zset": {
      return { zset: pairs(await redis.zrange(key, 0, -1, "WITHSCORES")) };
    }
    case "stream": {
      const entries = await redis.xrange(key, "-", "+");
      return { stream: Object.fromEntries(entries.map(([id, flat]) => [id, pairs(flat)])) };
    }
    default:
      throw new Error(`${key} is a ${type}`);
  }
}

async function writeKey(redis: Redis, key: string, kept: KeptKey): Promise<void> {
  if ("string" in kept) await redis.set(key, kept.string);
  else if ("hash" in kept) await redis.hset(key, kept.hash);
  else if ("set" in kept) await redis.sadd(key, ...kept.set);
  else if ("list" in kept) await redis.rpush(key, ...kept.list);
  else if ("zset" in kept)
    await redis.zadd(key, ...Object.entries(kept.zset).flatMap(([member, score]) => [score, member]));
  else
    for (const [id, fields] of Object.entries(kept.stream))
      await redis.xadd(key, id, ...Object.entries(fields).flat());
}
