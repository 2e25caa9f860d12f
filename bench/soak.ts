import { Redis } from "ioredis";
import { type Agent, type Answer, type BailiffProcess, openAgent } from "../test/support/bailiff.js";
import { leftoverContainers } from "../test/support/leftover-containers.js";
import { startRedisServer } from "../test/support/redis-server.js";
import { until } from "../test/support/until.js";
import type { Benchmark } from "./measure/benchmark.js";
import { type Holding, holdingOf, watchedCommand } from "./measure/process-watch.js";
import { createRedisMeter } from "./measure/redis-meter.js";
import { createRows, type Goal, type Unit } from "./measure/row.js";
import { keepGoing } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

const CALLERS = 4;
const TENANTS = ["acme", "rival", "third"];
const WORKSPACES = ["main", "other"];
const TELL_EVERY_MS = 30_000;
/** Of all commands, or of the time, before anything is sampled: code is compiled, pools and buffers get their size. */
const WARM_UP_SHARE = 0.2;
/** The shortest that a configuration may say, so that a soak sees more than one. */
const RETENTION_MS = 60_000;
/** For the round that trims listings after it. */
const TRIM_LIMIT_MS = 180_000;
const REST_LIMIT_MS = 120_000;

/** What the last quarter's median may be of the first's. */
const FLAT = { residentMib: 1.25, heapMib: 1.2, descriptors: 1.25, redis: 1.25 };
/** So few more are no leak: a connection is opened or closed, a container waits or does not. */
const FEW_DESCRIPTORS = 8;

/** Kinds of keys that outlive every command: of sessions, tenants, processes and evidence. */
const KEPT_KINDS: ReadonlySet<string> = new Set([
  "engines",
  "evidence-key",
  "evidence-tenants",
  "evidence:*:checkpoints",
  "evidence:*:head",
  "lead:evidence",
  "leases",
  "pool:default:fair",
  "queue:default:events",
  "queue:default:id",
  "queue:default:marker",
  "queue:default:meta",
  "queue:default:stalled-check",
  "session:*",
  "tenant:*:sessions",
  "tenant:*:usage",
  "tenant:*:workspace:*",
  "workers",
]);

/** Streams stay when they are empty. */
const KEPT_EMPTY: ReadonlySet<string> = new Set(["evidence-outbox", "evidence:*:records"]);

interface Sample {
  readonly api: Holding;
  readonly worker: Holding;
  readonly redisMib: number;
  readonly redisKeys: number;
}

/** Many commands of all kinds over a long time, and whether anything grows or is left. */
export const soak: Benchmark = {
  name: "soak",
  title: `${CALLERS} callers in ${TENANTS.length * WORKSPACES.length} workspaces, commands of every kind; medians of the first and the last quarter`,
  async run(context) {
    const isQuick = context.size === "quick";
    const [atMost, ownMs, sampleEveryMs] = isQuick ? [300, 300_000, 2_000] : [5_000, 2_400_000, 10_000];
    const forMs = context.minutes === null ? ownMs : context.minutes * 60_000;
    const redis = await startRedisServer();
    context.defer(() => redis.stop());
    const meter = createRedisMeter(redis.url);
    context.defer(() => meter.close());
    const client = new Redis(redis.url, { connectionName: "meter" });
    context.defer(() => client.disconnect());
    const service = await createService(context, {
      redis: { url: redis.url },
      limits: {
        result_ttl_ms: RETENTION_MS,
        evidence_ttl_ms: RETENTION_MS,
        approval_expiry_ms: RETENTION_MS,
        hard_timeout_ms: RETENTION_MS,
      },
    });
    const { deployment } = service.installation;
    const start = async (role: "api" | "worker", settings: Record<string, unknown>) => {
      const started = await service.installation.start(role, settings, watchedCommand(role));
      context.defer(() => started.stop());
      return started;
    };
    const worker = await start("worker", { worker: { concurrency: CALLERS, warm: { idle_ms: 15_000 } } });
    const api = await start("api", {});
    const agents: Agent[] = [];
    for (const tenant of TENANTS)
      for (const workspace of WORKSPACES)
        agents.push(await openAgent(service.installation, api, { tenant, workspace }));

    let done = 0;
    const samples: Sample[] = [];
    const sample = async (): Promise<Sample> => ({
      api: await holdingOf(api.child),
      worker: await holdingOf(worker.child),
      redisMib: (await meter.read()).memoryBytes / (1 << 20),
      redisKeys: await client.dbsize(),
    });
    const atFirst = await sample();
    let over = false;
    const beganMs = performance.now();
    const watching = (async () => {
      let toldMs = performance.now();
      while (!over) {
        await new Promise((resolve) => setTimeout(resolve, sampleEveryMs));
        if (over) break;
        if (done >= atMost * WARM_UP_SHARE || performance.now() - beganMs > forMs * WARM_UP_SHARE)
          samples.push(await sample());
        if (performance.now() - toldMs < TELL_EVERY_MS) continue;
        toldMs = performance.now();
        context.say(`${done} of ${atMost} commands`);
      }
    })();
    const result = await keepGoing({ concurrency: CALLERS, forMs, atMost }, async () => {
      const turn = done;
      done += 1;
      const agent = agents[turn % agents.length];
      if (agent !== undefined) await KINDS[turn % KINDS.length]?.(agent, api, turn);
    }).finally(() => {
      over = true;
    });
    await watching;
    context.say(
      `${done} commands in ${(result.elapsedMs / 1_000).toFixed(0)} s; waiting until nothing is left`,
    );

    const rows = createRows("soak");
    const goals: Goal[] = [];
    const compare = (
      label: string,
      unit: Unit,
      of: (sample: Sample) => number,
      flat: number | null,
      few = 0,
    ) => {
      const quarter = Math.max(1, Math.floor(samples.length / 4));
      const first = rows.samples(`${label}, first quarter`, unit, samples.slice(0, quarter).map(of));
      const last = rows.samples(`${label}, last quarter`, unit, samples.slice(-quarter).map(of), first.label);
      if (flat === null) return;
      const met = last.p50 <= first.p50 * flat || last.p50 <= first.p50 + few;
      goals.push({
        text: `${label}: last quarter at most ${flat} of the first (here ${(last.ratio ?? 1).toFixed(2)})`,
        met,
      });
    };
    for (const role of ["api", "worker"] as const) {
      compare(`${role}: resident memory`, "MiB", (each) => each[role].residentMib, FLAT.residentMib);
      compare(`${role}: heap after a collection`, "MiB", (each) => each[role].heapMib, FLAT.heapMib);
      for (const kind of ["sockets", "pipes", "files"] as const)
        compare(`${role}: ${kind}`, "open", (each) => each[role][kind], FLAT.descriptors, FEW_DESCRIPTORS);
    }
    // A run shorter than the retention only adds records.
    const redisFlat = isQuick ? null : FLAT.redis;
    compare("Redis memory", "MiB", (each) => each.redisMib, redisFlat);
    compare("Redis keys", "keys", (each) => each.redisKeys, redisFlat);

    const { dockerSocket } = context.environment;
    const containersLeft = () => leftoverContainers(dockerSocket, deployment).then((ids) => ids.length);
    await patiently(async () => (await containersLeft()) === 0, REST_LIMIT_MS);
    const idleContainers = await containersLeft();
    await patiently(async () => (await foreignKinds(client, deployment)).size === 0, TRIM_LIMIT_MS);
    const foreign = await foreignKinds(client, deployment);
    const kept = await kindsOf(client, deployment);
    const atRest = await sample();
    const codes = [await worker.stop(), await api.stop()];
    const left = { containers: await containersLeft(), connections: await meter.connections() };

    for (const role of ["api", "worker"] as const) {
      const held = (holding: Holding) => holding.sockets + holding.pipes;
      const before = rows.value(`${role}: sockets and pipes before`, "open", held(atFirst[role]));
      const after = rows.value(
        `${role}: sockets and pipes at rest after`,
        "open",
        held(atRest[role]),
        before.label,
      );
      goals.push({
        text: `${role}: at rest at most ${FEW_DESCRIPTORS} more sockets and pipes than before (here ${after.p50 - before.p50})`,
        met: after.p50 - before.p50 <= FEW_DESCRIPTORS,
      });
    }
    goals.push(
      {
        text: `no container at rest (here ${idleContainers}), none after the end (here ${left.containers})`,
        met: idleContainers + left.containers === 0,
      },
      {
        text: `no connection to Redis after the end (here ${left.connections})`,
        met: left.connections === 0,
      },
      {
        text: `both processes end with 0 (here ${codes.join(" and ")})`,
        met: codes.every((code) => code === 0),
      },
      {
        text: `no key in Redis but what is kept (here ${foreign.size === 0 ? "none" : told(foreign)})`,
        met: foreign.size === 0,
      },
    );
    return {
      rows: rows.rows,
      goals,
      notes: [
        `soak: ${done} commands in ${(result.elapsedMs / 1_000).toFixed(0)} s, ${samples.length} samples.`,
        `soak: keys in Redis once retention was over: ${told(kept)}.`,
      ],
    };
  },
};

/** In turn; a step that does not end as it must fails the soak. */
const KINDS: readonly ((agent: Agent, api: BailiffProcess, turn: number) => Promise<void>)[] = [
  ...Array.from({ length: 4 }, () => async (agent: Agent) => expectEnd(await agent.submit(["true"]))),
  async (agent) => expectEnd(await agent.submit(["seq", "1", "5000"])),
  async (agent) => expectEnd(await agent.submit(["false"])),
  async (agent, _, turn) => {
    const headers = { prefer: "wait=60", "idempotency-key": `soak-${turn}` };
    const first = await agent.submit(["true"], {}, headers);
    expectEnd(first);
    const again = await agent.submit(["true"], {}, headers);
    expectEnd(again);
    if (again.body.command_id !== first.body.command_id) throw new Error("a repeat was another command");
  },
  async (agent, api) => {
    const { body } = await agent.submit(["sleep", "60"], {}, {});
    await api.call(agent.key, "POST", `/v1/commands/${body.command_id}/cancel`);
    expectEnd(await api.call(agent.key, "GET", `/v1/commands/${body.command_id}?wait=60`), "cancelled");
  },
  async (agent) => expectEnd(await agent.submit(["sh", "-c", "exit 3"])),
  async (agent) => expectEnd(await agent.submit(["true"])),
  async (agent) => expectEnd(await agent.submit(["yes"]), "output_limit_exceeded"),
  async (agent) => expectEnd(await agent.submit(["sleep", "60"], { timeout_s: 1 }), "timed_out"),
  async (agent) => expectEnd(await agent.submit(["true"])),
];

function expectEnd({ status, body }: Answer, outcome = "completed"): void {
  if (status >= 300 || body.outcome !== outcome)
    throw new Error(`not ${outcome}: ${status} ${JSON.stringify(body).slice(0, 500)}`);
}

/** Waits for what ought to come; whether it came is looked at afterwards. */
async function patiently(condition: () => Promise<boolean>, limitMs: number): Promise<void> {
  await until(condition, limitMs).catch(() => undefined);
}

/** How many keys of each kind there are: their names without what is a tenant's, a command's or a process's own. */
async function kindsOf(redis: Redis, deployment: string): Promise<Map<string, number>> {
  const kinds = new Map<string, number>();
  let cursor = "0";
  do {
    const [next, found] = await redis.scan(cursor, "COUNT", 1_000);
    for (const key of found) {
      const kind = key
        .replace(`{bailiff:${deployment}}:`, "")
        .replace(/\b(cmd|ses)_[0-9a-z]+/g, "*")
        .replace(/^((?:tenant|evidence|idem\w*):)(?:acme|rival|third)\b/, "$1*")
        .replace(/^(tenant:\*:workspace:).*/, "$1*")
        .replace(/\b[0-9a-f]{32,}\b/g, "*");
      if (KEPT_EMPTY.has(kind) && (await redis.xlen(key)) === 0) continue;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    cursor = next;
  } while (cursor !== "0");
  return kinds;
}

async function foreignKinds(redis: Redis, deployment: string): Promise<Map<string, number>> {
  return new Map([...(await kindsOf(redis, deployment))].filter(([kind]) => !KEPT_KINDS.has(kind)));
}

function told(kinds: ReadonlyMap<string, number>): string {
  return [...kinds]
    .sort()
    .map(([kind, count]) => `${kind} (${count})`)
    .join(", ");
}
