import { randomBytes } from "node:crypto";
import type { ApprovalStore } from "../../ports/approval-store.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandChanges } from "../../ports/command-changes.js";
import type { CommandQueue } from "../../ports/command-queue.js";
import type { CancelFeed, CommandStore, LeaseStore } from "../../ports/command-store.js";
import type { EvidenceStore } from "../../ports/evidence-store.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { Log } from "../../ports/telemetry.js";
import type { WarmHomes } from "../../ports/warm-homes.js";
import type { WebhookStore } from "../../ports/webhook-store.js";
import { createBullmqCommandQueue } from "./bullmq-command-queue.js";
import { createCommandEvents } from "./command-events.js";
import { createCommandPlaces } from "./command-places.js";
import { createCommandScripts } from "./command-scripts.js";
import {
  connectFirst,
  createRedisClient,
  disconnect,
  isAnswering,
  type RedisEndpoint,
} from "./connection.js";
import { createKeys } from "./keys.js";
import { createRedisApprovalStore } from "./redis-approval-store.js";
import { createRedisCancelFeed } from "./redis-cancel-feed.js";
import { createRedisCommandStore, type Retention } from "./redis-command-store.js";
import { createRedisEvidenceStore } from "./redis-evidence-store.js";
import { createRedisLeaseStore } from "./redis-lease-store.js";
import { createRedisQueueBoard, type RedisQueueBoard } from "./redis-queue-board.js";
import { createRedisSessionStore } from "./redis-session-store.js";
import { createRedisWarmHomes } from "./redis-warm-homes.js";
import { createRedisWebhookStore } from "./redis-webhook-store.js";
import { replicatedScript } from "./replicated-script.js";
import { defineScripts, type RunScript } from "./scripts.js";
import { startCheck } from "./start-check.js";

/** Everything of one deployment that is kept in Redis, on two connections per process, and a third where claims wait for replicas. */
export interface RedisStores {
  readonly commands: CommandStore;
  readonly approvals: ApprovalStore;
  readonly changes: CommandChanges;
  readonly sessions: SessionStore;
  readonly leases: LeaseStore;
  readonly cancels: CancelFeed;
  readonly warmHomes: WarmHomes;
  readonly queue: CommandQueue;
  readonly webhooks: WebhookStore;
  readonly evidence: EvidenceStore;
  readonly board: RedisQueueBoard;
  /** Whether Redis answers now. */
  isAnswering(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Connects and checks that this Redis may be trusted with commands.
 * Rejects with StoreUnavailable when it is not reachable, with a plain Error when its settings are wrong.
 */
export async function openRedisStores(options: {
  readonly endpoint: RedisEndpoint;
  /** Name of the deployment: deployments that share a Redis share nothing else. */
  readonly deployment: string;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Log;
}): Promise<RedisStores> {
  const { endpoint, clock, log } = options;
  const keys = createKeys(options.deployment);
  const redis = createRedisClient(endpoint, options.deployment, "commands", log);
  const subscriber = createRedisClient(endpoint, options.deployment, "subscriber", log);
  const claims = endpoint.waitReplicas
    ? createRedisClient(endpoint, options.deployment, "claims", log)
    : null;
  const connections = [redis, subscriber, ...(claims === null ? [] : [claims])];
  try {
    await Promise.all(connections.map(connectFirst));
    await startCheck(redis, keys.queued, endpoint.waitReplicas ?? 0, log);
  } catch (error) {
    await Promise.all(connections.map(disconnect));
    throw error;
  }
  const runScript = defineScripts(redis);
  const places = createCommandPlaces(redis, keys);
  const processToken = randomBytes(6).toString("base64url");
  const events = createCommandEvents(subscriber, keys, processToken);
  const scriptsBy = (run: RunScript) =>
    createCommandScripts({ keys, runScript: run, places, resultTtlMs: options.retention.resultTtlMs });
  const scripts = scriptsBy(runScript);
  const commands = createRedisCommandStore({
    redis,
    keys,
    scripts,
    claimScripts:
      claims === null
        ? scripts
        : scriptsBy(replicatedScript(claims, defineScripts(claims), endpoint.waitReplicas ?? 0)),
    events,
    processToken,
    retention: options.retention,
    clock,
  });
  const queue = createBullmqCommandQueue(redis, keys, log);
  return {
    commands,
    approvals: createRedisApprovalStore({ redis, keys, places, scripts }),
    changes: commands.changes,
    sessions: createRedisSessionStore({ redis, keys, runScript }),
    leases: createRedisLeaseStore({
      redis,
      keys,
      runScript,
      places,
      resultTtlMs: options.retention.resultTtlMs,
    }),
    cancels: createRedisCancelFeed(redis, keys, events),
    warmHomes: createRedisWarmHomes({ redis, subscriber, keys }),
    queue,
    webhooks: createRedisWebhookStore({
      redis,
      keys,
      runScript,
      events,
      resultTtlMs: options.retention.resultTtlMs,
    }),
    evidence: createRedisEvidenceStore({ redis, keys, runScript, events }),
    board: createRedisQueueBoard({ redis, keys, queueOf: queue.queueOf }),
    isAnswering: () => isAnswering(redis),
    async close() {
      commands.close();
      events.close();
      await queue.close();
      await Promise.all(connections.map(disconnect));
    },
  };
}
