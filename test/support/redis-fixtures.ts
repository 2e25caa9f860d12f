import { Redis } from "ioredis";
import type { RedisEndpoint } from "../../src/adapters/redis/connection.js";
import { openRedisStores, type RedisStores } from "../../src/adapters/redis/redis-stores.js";
import type { CommandRecord, CommandResult } from "../../src/domain/command.js";
import { UNBOUNDED_SESSION } from "../../src/domain/decision/session-budget.js";
import { formatId, type IdKind } from "../../src/domain/ids.js";
import { neverStarted } from "../../src/domain/outcome.js";
import { unstartedResult } from "../../src/domain/result.js";
import type { Session } from "../../src/domain/session.js";
import type { Clock } from "../../src/ports/clock.js";
import type { Admission, AdmissionQuotas, WorkerStatus } from "../../src/ports/command-store.js";
import type { Log, Metrics } from "../../src/ports/telemetry.js";
import type { RedisServer } from "./redis-server.js";

let counter = 0;

/** A fresh id; later ones sort behind earlier ones. */
export function freshId(kind: IdKind): string {
  counter += 1;
  const random = new Uint8Array(10);
  crypto.getRandomValues(random);
  new DataView(random.buffer).setUint32(0, counter);
  return formatId(kind, Date.now(), random);
}

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

export const silentMetrics: Metrics = {
  count: () => undefined,
  observe: () => undefined,
  gauge: () => undefined,
};

export const NO_QUOTAS: AdmissionQuotas = {
  tenantQueued: null,
  tenantConcurrent: null,
  sessionQueued: null,
  tenantRequestsPerMinute: null,
  tenantDispatchesPerDay: null,
  tenantWallMsPerDay: null,
  tenantCpuMsPerDay: null,
  totalQueued: null,
  tenantWeight: 1,
};

/** A session with an unlimited grant, but for what is given. */
export function aSession(
  given: Partial<Omit<Session, "grant" | "budget">> & {
    grant?: Partial<Session["grant"]>;
    budget?: Partial<Session["budget"]>;
  } = {},
): Session {
  return {
    id: freshId("ses"),
    tenant: "acme",
    workspaceId: "ws1",
    profile: "default",
    cwd: ".",
    createdBy: "tester",
    createdAtMs: Date.now(),
    label: { sensitivity: "public", trust: "unknown", categories: [], tenant: given.tenant ?? "acme" },
    version: 1,
    ...given,
    budget: { ...UNBOUNDED_SESSION, ...given.budget },
    grant: {
      level: "allow_all",
      revoked: false,
      expiresAtMs: null,
      dispatchesLeft: null,
      executables: null,
      vectors: [],
      ...given.grant,
    },
  };
}

/** A queued command of a session, but for what is given. */
export function aRecord(session: Session, given: Partial<CommandRecord> = {}): CommandRecord {
  const nowMs = given.createdAtMs ?? Date.now();
  const state = given.state ?? "queued";
  return {
    id: freshId("cmd"),
    tenant: session.tenant,
    sessionId: session.id,
    workspaceId: session.workspaceId,
    principalId: "tester",
    profile: session.profile,
    imageDigest: "sha256:0",
    pool: "default",
    request: {
      argv: ["echo", "a|b", "\u{1F600}"],
      cwd: ".",
      timeoutMs: 1_000,
      maxStdoutChars: 10,
      maxStderrChars: 10,
      sourceObjects: [],
      reason: null,
    },
    decision: {
      verdict: "allow",
      layers: [],
      policyVersion: "v1",
      innerVectors: [],
      gitHardened: false,
      boundFiles: [],
    },
    state,
    createdAtMs: nowMs,
    queuedAtMs: state === "queued" ? nowMs : null,
    dispatchedAtMs: null,
    finishedAtMs: state === "finished" ? nowMs : null,
    fence: null,
    workerId: null,
    containerId: null,
    cancelRequested: false,
    approvalId: null,
    result: state === "finished" ? unstartedResult(neverStarted("denied", null)) : null,
    ...(state === "finished" ? {} : { charge: { wallMs: 1_000, cpuMs: 2_000 } }),
    ...given,
  };
}

/** What a worker without work says of itself. */
export const IDLE: WorkerStatus = {
  host: "host-1",
  pools: ["default"],
  concurrency: 4,
  running: 0,
  warmContainers: 0,
  isDraining: false,
};

/** The result of a process that ended by itself. */
export function aCompletedResult(given: Partial<CommandResult> = {}): CommandResult {
  return {
    outcome: "completed",
    effect: "completed",
    returncode: 0,
    signal: null,
    startFailure: null,
    detail: null,
    stdout: { bytes: 2, sha256: "aa", truncated: false, truncatedBy: [], utf8Replaced: false },
    stderr: { bytes: 0, sha256: "bb", truncated: false, truncatedBy: [], utf8Replaced: false },
    output: { stdout: "a\n", stderr: "" },
    partial: false,
    resultOmitted: false,
    usage: { wallMs: 5, cpuMs: 1, peakMemoryBytes: 1, oomKills: 0 },
    gitHardened: false,
    ...given,
  };
}

export const CANCELLED: CommandResult = unstartedResult(neverStarted("cancelled", null));

/** The stores of a deployment of their own, with a plain client beside them, and what a test needs most. */
export interface StoreFixture extends RedisStores {
  readonly deployment: string;
  readonly redis: Redis;
  /** A live worker's id. */
  readonly workerId: string;
  close(): Promise<void>;
}

/** Opens stores on a server, each time under a deployment's name of their own. */
export async function openStoreFixture(
  server: RedisServer,
  given: {
    deployment?: string;
    resultTtlMs?: number;
    idempotencyTtlMs?: number;
    commandTimeoutMs?: number;
    /** Where the stores look for Redis, in place of the server itself. */
    endpoint?: RedisEndpoint;
    log?: Log;
    clock?: Clock;
  } = {},
): Promise<StoreFixture> {
  const deployment = given.deployment ?? freshId("key").replace("_", "-");
  const stores = await openRedisStores({
    endpoint: {
      ...(given.endpoint ?? { url: server.url }),
      ...(given.commandTimeoutMs ? { commandTimeoutMs: given.commandTimeoutMs } : {}),
    },
    deployment,
    retention: {
      resultTtlMs: given.resultTtlMs ?? 60_000,
      idempotencyTtlMs: given.idempotencyTtlMs ?? 60_000,
    },
    clock: given.clock ?? { nowMs: () => Date.now() },
    log: given.log ?? silentLog,
  });
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  redis.on("error", () => undefined);
  const workerId = freshId("wrk");
  await stores.leases.heartbeat({ workerId, engineId: "engine-1", leaseMs: 3_600_000, status: IDLE });
  return {
    ...stores,
    deployment,
    redis,
    workerId,
    async close() {
      redis.disconnect();
      await stores.close();
    },
  };
}

/** Admits a queued command without bounds and answers its record. */
export async function admitQueued(
  stores: RedisStores,
  session: Session,
  given: Partial<CommandRecord> = {},
  options: Pick<Admission, "isAwaited"> = {},
): Promise<{ record: CommandRecord; priority: number }> {
  const record = aRecord(session, given);
  const answer = await stores.commands.admit({
    record,
    idempotency: null,
    quotas: NO_QUOTAS,
    sessionVersion: null,
    ...options,
  });
  if (answer.kind !== "admitted") throw new Error(`not admitted: ${JSON.stringify(answer)}`);
  return { record, priority: answer.priority };
}

/** Claims for the fixture's worker. */
export function claimFor(fixture: StoreFixture, commandId: string, fence = freshId("fen")) {
  return fixture.commands.claim({
    commandId,
    workerId: fixture.workerId,
    fence,
    containerId: `container-of-${fence}`,
    seen: null,
  });
}
