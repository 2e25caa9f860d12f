import type { Redis } from "ioredis";
import type { Log } from "../../ports/telemetry.js";
import { orUnavailable } from "./store-failure.js";

const MIN_VERSION = [6, 2] as const;

/**
 * Refuses a Redis that could lose or evict commands, warns about one that forgets them at a restart.
 * `anyKey` is one of the deployment's, `waitReplicas` how many replicas claims will wait for.
 * @throws Error that says which setting to change.
 */
export async function startCheck(
  redis: Redis,
  anyKey: string,
  waitReplicas: number,
  log: Log,
): Promise<void> {
  const facts = readFacts(await orUnavailable(() => redis.info()));
  const version = facts.get("redis_version") ?? "0";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    throw new Error(`Redis ${version} is too old: Bailiff needs 6.2 or newer`);
  }
  if (await isElsewhere(redis, anyKey)) {
    throw new Error(
      "This Redis is one node of a Cluster, and another one holds the deployment's keys: name more nodes in redis.cluster_nodes",
    );
  }
  const policy = facts.get("maxmemory_policy") ?? (await setting(redis, "maxmemory-policy"));
  if (policy !== "noeviction") {
    throw new Error(
      `Redis may evict commands: maxmemory-policy is '${policy ?? "unknown"}'; set it to 'noeviction' (CONFIG SET maxmemory-policy noeviction, and in redis.conf)`,
    );
  }
  if (facts.get("role") === "slave") {
    throw new Error("This Redis is a read-only replica: give Bailiff the primary's address");
  }
  const replicas = Number(facts.get("connected_slaves") ?? 0);
  if (replicas < waitReplicas) {
    log.warn(
      { replicas, wait_replicas: waitReplicas },
      "Redis has fewer replicas than redis.wait_replicas: no command is dispatched until it has them",
    );
  }
  if (replicas > 0 && waitReplicas === 0) {
    log.warn(
      { replicas },
      "Redis has replicas, and no claim waits for them: a failover to one may run a command twice; set redis.wait_replicas",
    );
  }
  const appendOnly = facts.get("aof_enabled") === "1";
  const save = await setting(redis, "save");
  if (!appendOnly && (save === null || save === "")) {
    log.warn(
      { aof_enabled: appendOnly, save },
      "Redis keeps nothing on disk: a restart forgets every command; set 'appendonly yes'",
    );
  }
}

async function isElsewhere(redis: Redis, key: string): Promise<boolean> {
  try {
    await redis.exists(key);
    return false;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("MOVED ")) return true;
    return orUnavailable(() => Promise.reject(error));
  }
}

/** Null where the server does not let us read its configuration, as many hosted ones don't. */
async function setting(redis: Redis, name: string): Promise<string | null> {
  const reply = await redis.config("GET", name).catch(() => null);
  return Array.isArray(reply) && typeof reply[1] === "string" ? reply[1] : null;
}

function readFacts(text: string): Map<string, string> {
  const facts = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) facts.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return facts;
}
