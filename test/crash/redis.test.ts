import { mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { test } from "vitest";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { REDIS_MATRIX } from "../support/crash/crash-matrix.js";
import { ledgerLines, ledgerProgram, letGo, SHORT_TIMES, verdictOf } from "../support/crash/lane.js";
import { metricValue } from "../support/crash/metric-value.js";
import { recordVerdicts } from "../support/crash/verdicts.js";
import { containersOf } from "../support/engine-containers.js";
import { type RedisServer, type RedisSettings, startRedisServer } from "../support/redis-server.js";
import { until } from "../support/until.js";

const LIMIT_MS = 120_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A way to break Redis under a running and a queued command. */
interface RedisFault {
  readonly name: string;
  readonly settings?: RedisSettings;
  /** A second worker, which must not take the first for dead. */
  readonly withPeer?: boolean;
  /** Longer than a lease where Redis takes no renewal. */
  readonly lastsMs: number;
  begin(redis: RedisServer, admin: Redis): Promise<unknown>;
  end(redis: RedisServer, admin: Redis): Promise<unknown>;
  /** What must have counted, in the process that runs commands. */
  readonly metric: RegExp;
}

const RETRIES = /^bailiff_store_retries_total /;
const NO_HEARTBEAT = /^bailiff_duty_failures_total\{duty="heartbeat"\} /;
const REFUSED = /^bailiff_http_requests_total\{.*status="503".*\} /;

const FAULTS: readonly RedisFault[] = [
  {
    name: "Redis restarted",
    lastsMs: 0,
    begin: (redis) => redis.restart(),
    end: async () => undefined,
    metric: /^bailiff_commands_finished_total\{outcome="completed",effect="completed"\} /,
  },
  {
    name: "Redis down for 10 s",
    withPeer: true,
    lastsMs: 10_000,
    begin: (redis) => redis.kill(),
    end: (redis) => redis.restart(),
    metric: RETRIES,
  },
  {
    name: "Redis silent for 10 s",
    withPeer: true,
    lastsMs: 10_000,
    begin: async (redis) => redis.pause(),
    end: async (redis) => redis.resume(),
    metric: NO_HEARTBEAT,
  },
  {
    name: "Redis without its replicas (NOREPLICAS)",
    lastsMs: 8_000,
    begin: (_, admin) => admin.config("SET", "min-replicas-to-write", "1"),
    end: (_, admin) => admin.config("SET", "min-replicas-to-write", "0"),
    metric: NO_HEARTBEAT,
  },
  {
    name: "Redis demoted to a replica (READONLY)",
    lastsMs: 8_000,
    begin: (_, admin) => admin.replicaof("127.0.0.1", "1"),
    end: (_, admin) => admin.replicaof("NO", "ONE"),
    metric: NO_HEARTBEAT,
  },
  {
    name: "Redis with a full disk (MISCONF)",
    settings: { appendonly: "no", save: "3600 1" },
    lastsMs: 8_000,
    async begin(redis, admin) {
      // A directory in its place is a dump that can't be written, as on a full disk.
      await mkdir(join(redis.directory, "dump.rdb"));
      await admin.bgsave();
      await until(async () => (await admin.info("persistence")).includes("rdb_last_bgsave_status:err"));
    },
    async end(redis, admin) {
      await rmdir(join(redis.directory, "dump.rdb"));
      await admin.bgsave();
      await until(async () => (await admin.info("persistence")).includes("rdb_last_bgsave_status:ok"));
    },
    metric: NO_HEARTBEAT,
  },
  {
    name: "Redis out of memory (OOM)",
    lastsMs: 8_000,
    begin: (_, admin) => admin.config("SET", "maxmemory", "1mb"),
    end: (_, admin) => admin.config("SET", "maxmemory", "0"),
    metric: REFUSED,
  },
];

test.concurrent.for(FAULTS)(
  "$name: what ran is known, what waited runs once, nothing is accepted and forgotten (FB-51)",
  async (fault, { expect }) => {
    const redis = await startRedisServer(fault.settings);
    const installation = await createInstallation({ redis: { url: redis.url }, worker: SHORT_TIMES });
    const admin = new Redis(redis.url, { maxRetriesPerRequest: null });
    admin.on("error", () => undefined);
    try {
      const service = await installation.start("all", { worker: { concurrency: 1 } });
      const agent = await openAgent(installation, service);
      const read = async (id: string) => (await service.call(agent.key, "GET", `/v1/commands/${id}`)).body;
      const submit = async (name: string) => {
        const { status, body } = await agent.submit(ledgerProgram(name), { timeout_s: 200 }, {});
        return { status, id: body.command_id as string, name };
      };
      const first = await submit("first");
      await until(async () => (await ledgerLines(agent.directory, "first")) === 1, LIMIT_MS);
      if (fault.withPeer === true) await installation.start("worker", { worker: { concurrency: 1 } });
      const queued = await submit("queued");
      // What was written within the last second may be lost with a killed Redis, as documented.
      await pause(1_200);

      await fault.begin(redis, admin);
      let refused: { status: number; id: string; name: string } | null = null;
      if (fault.lastsMs > 0) {
        refused = await submit("refused");
        expect(refused.status).toBe(503);
      }
      await letGo(agent.directory, "first");
      await letGo(agent.directory, "queued");
      await pause(fault.lastsMs);
      await fault.end(redis, admin);

      for (const { id } of [first, queued]) {
        await until(async () => (await read(id)).state === "finished", LIMIT_MS);
      }
      const verdict = await verdictOf(service, agent, first, { fault: fault.name, step: "argv sent" });
      recordVerdicts([verdict]);
      expect([verdict]).toEqual(REDIS_MATRIX.filter((row) => row.fault === fault.name));
      expect(await read(queued.id)).toMatchObject({ outcome: "completed", effect: "completed" });
      expect(await ledgerLines(agent.directory, "queued")).toBe(1);
      expect(await ledgerLines(agent.directory, "refused")).toBe(0);

      let next = await submit("next");
      await until(async () => {
        if (next.status !== 202) next = await submit("next");
        return next.status === 202;
      }, LIMIT_MS);
      await letGo(agent.directory, "next");
      await until(async () => (await read(next.id)).outcome === "completed", LIMIT_MS);
      await until(async () => (await containersOf(installation.deployment)).length === 0, LIMIT_MS);
      expect(await metricValue(service, agent.key, fault.metric)).toBeGreaterThan(0);
    } finally {
      admin.disconnect();
      redis.resume();
      await installation.remove();
      await redis.stop();
    }
  },
);

test.concurrent("FLUSHALL: a forgotten command is nobody's success, its loss counts, and the service goes on (FB-51)", async ({
  expect,
}) => {
  const redis = await startRedisServer();
  const installation = await createInstallation({ redis: { url: redis.url }, worker: SHORT_TIMES });
  const admin = new Redis(redis.url);
  try {
    const service = await installation.start("all");
    const peer = await installation.start("worker");
    const agent = await openAgent(installation, service);
    const first = await agent.submit(ledgerProgram("first"), { timeout_s: 200 }, {});
    await until(async () => (await ledgerLines(agent.directory, "first")) === 1, LIMIT_MS);
    await admin.flushall();
    // No lease is left either, and yet no peer may take the other for dead.
    await pause(8_000);
    expect(await containersOf(installation.deployment)).toHaveLength(1);
    await letGo(agent.directory, "first");
    await until(async () => (await containersOf(installation.deployment)).length === 0, LIMIT_MS);
    const read = await service.call(agent.key, "GET", `/v1/commands/${first.body.command_id}`);
    expect(read.status).toBe(404);
    const verdict = {
      fault: "FLUSHALL",
      step: "argv sent",
      ledger: await ledgerLines(agent.directory, "first"),
      ended: true,
      outcome: read.body.code,
      effect: "-",
    };
    recordVerdicts([verdict]);
    expect([verdict]).toEqual(REDIS_MATRIX.filter((row) => row.fault === "FLUSHALL"));
    const log = (await service.log()) + (await peer.log());
    expect(log).toContain("the store has forgotten a command that was running");

    const again = await openAgent(installation, service);
    const { body } = await again.submit(["true"]);
    expect(body).toMatchObject({ outcome: "completed", effect: "completed" });
  } finally {
    admin.disconnect();
    await installation.remove();
    await redis.stop();
  }
});
