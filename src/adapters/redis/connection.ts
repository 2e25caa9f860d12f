import { Redis, type RedisOptions } from "ioredis";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log } from "../../ports/telemetry.js";
import { createKeys } from "./keys.js";
import { addressOf, type RedisTls } from "./redis-address.js";
import { createSlotConnector, TlsConnector } from "./slot-connector.js";
import { orUnavailable } from "./store-failure.js";

/** Where Redis is. */
export interface RedisEndpoint {
  /** `redis://` or `rediss://`, with user, password and database as usual. */
  readonly url: string;
  /** More nodes of the Redis Cluster that `url` is one of, each `host:port`; empty or left out: it is none. */
  readonly clusterNodes?: readonly string[];
  /** For `rediss://`; null or left out: whom the system trusts. */
  readonly tls?: RedisTls | null;
  /** How many replicas have to have a claim before it counts; default 0. */
  readonly waitReplicas?: number;
  /** Bound on one command; default 2,000. */
  readonly commandTimeoutMs?: number;
}

/**
 * `commands` fails fast and never sends a command twice, and so does `claims`; `subscriber` holds the subscriptions;
 * `fetcher` is for BullMQ's worker, whose blocking commands wait for Redis to come back.
 */
export type ConnectionRole = "commands" | "claims" | "subscriber" | "fetcher";

const FIRST_CONNECT_LIMIT_MS = 10_000;

/** A client that reconnects for ever and whose errors are logged, once per outage. Not connected yet. */
export function createRedisClient(
  endpoint: RedisEndpoint,
  deployment: string,
  role: ConnectionRole,
  log: Log,
): Redis {
  const { clusterNodes = [] } = endpoint;
  const commandTimeoutMs = endpoint.commandTimeoutMs ?? 2_000;
  const address = addressOf(endpoint.url, endpoint.tls ?? null);
  const common: RedisOptions = {
    lazyConnect: true,
    connectTimeout: commandTimeoutMs,
    connectionName: `bailiff-${role}`,
    keepAlive: 5_000,
    // Jitter, so that all processes of a deployment do not come back in the same instant.
    retryStrategy: (attempt) =>
      Math.round(Math.min(1_000, 50 * 2 ** Math.min(attempt, 6)) * (0.75 + Math.random() / 2)),
    // A primary that is none any more, or not of our slot: connect anew, to whatever the name or the slot stands for now.
    reconnectOnError: (error) => /^(?:READONLY|MOVED|CLUSTERDOWN) /.test(error.message),
    ...(clusterNodes.length === 0
      ? address.tls && { Connector: TlsConnector }
      : { Connector: createSlotConnector(createKeys(deployment).queued, clusterNodes) }),
  };
  // What was sent when the connection broke may have been done: it fails, and whoever asked decides.
  const onceOnly: RedisOptions = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    socketTimeout: 2 * commandTimeoutMs,
  };
  const byRole: Record<ConnectionRole, RedisOptions> = {
    commands: onceOnly,
    claims: onceOnly,
    // It subscribes by itself whenever it is ready, where a refusal is heard; the client's own way would not hear it.
    subscriber: { maxRetriesPerRequest: null, autoResubscribe: false },
    fetcher: { maxRetriesPerRequest: null },
  };
  const client = new Redis({ ...address, ...common, ...byRole[role] });
  let reported = false;
  client.on("error", (error: Error & { code?: string }) => {
    if (reported) return;
    reported = true;
    log.warn(
      { connection: role, code: error.code ?? error.name },
      "the connection to Redis failed; trying again",
    );
  });
  client.on("ready", () => {
    if (reported) log.info({ connection: role }, "the connection to Redis is back");
    reported = false;
  });
  return client;
}

/** Connects for the first time. Rejects with StoreUnavailable when Redis is not ready within ten seconds. */
export async function connectFirst(client: Redis): Promise<void> {
  if (client.status === "wait") client.connect().catch(() => undefined);
  if (client.status === "ready") return;
  await new Promise<void>((resolve, reject) => {
    // A code, such as a certificate's: a message may quote what the other side sent.
    let code: string | null = null;
    const onError = (error: Error & { code?: string }) => {
      code = error.code ?? code;
    };
    const settle = (outcome: () => void) => {
      clearTimeout(timer);
      client.off("error", onError);
      client.off("ready", onReady);
      client.off("end", onEnd);
      outcome();
    };
    const onReady = () => settle(resolve);
    const onEnd = () => settle(() => reject(new StoreUnavailable("the connection to Redis was closed")));
    const timer = setTimeout(
      () =>
        settle(() =>
          reject(new StoreUnavailable(`Redis is not reachable or not ready (${code ?? "no answer"})`)),
        ),
      FIRST_CONNECT_LIMIT_MS,
    );
    client.on("error", onError);
    client.once("ready", onReady);
    client.once("end", onEnd);
  });
}

/** Closes without waiting for a Redis that may be gone. */
export async function disconnect(client: Redis): Promise<void> {
  if (client.status === "end" || client.status === "wait") return;
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  client.disconnect();
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
}

/** Whether Redis answers now. */
export async function isAnswering(client: Redis): Promise<boolean> {
  return orUnavailable(() => client.ping()).then(
    () => true,
    () => false,
  );
}
