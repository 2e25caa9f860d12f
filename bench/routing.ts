import { type Agent, openAgent } from "../test/support/bailiff.js";
import { type MeteredWorker, startMeteredWorker } from "../test/support/metered-worker.js";
import { startRedisServer } from "../test/support/redis-server.js";
import { createApiClient } from "./measure/api-client.js";
import type { Benchmark, BenchmarkContext } from "./measure/benchmark.js";
import { createRows } from "./measure/row.js";
import { type Contender, takeTurns, timed } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

const WORKERS = 3;
/** More kinds than one worker keeps containers of, and as many as all of them together do. */
const WORKSPACES = 6;
const WARM_PER_WORKER = 2;
const WITHOUT = "each worker by itself (offer_ms 0)";
const WITH = "offers to the home (offer_ms 50)";
const QUIET_LIMIT_MS = 3_000;
const LOOK_EVERY_MS = 50;

const LEASES = ["warm", "starting", "cold"] as const;
const leased = (result: string) => `bailiff_warm_leases_total{result="${result}"}`;

/** Whether commands find the container that waits for them, wherever in a fleet it does. */
export const routing: Benchmark = {
  name: "routing",
  title: `${WORKERS} worker processes of ${WARM_PER_WORKER} warm containers, ${WORKSPACES} workspaces take turns, one command at a time`,
  async run(context) {
    const bound =
      context.size === "quick" ? { rounds: 18, limitMs: 60_000 } : { rounds: 120, limitMs: 240_000 };
    const rows = createRows("routing");
    context.say("two fleets");
    const fleets = new Map([
      [WITHOUT, await openFleet(context, 0)],
      [WITH, await openFleet(context, 50)],
    ]);
    const contenders: Record<string, Contender> = {};
    for (const [name, fleet] of fleets) {
      // Each workspace's first command on each worker is not what is asked here.
      for (let n = 0; n < WORKERS * WORKSPACES; n += 1) await fleet.runNext();
      await fleet.reset();
      contenders[name] = fleet.runNext;
    }
    context.say("turns");
    const samples = await takeTurns(contenders, bound);
    for (const name of fleets.keys()) {
      const baseline = name === WITHOUT ? undefined : WITHOUT;
      rows.samples(name, "ms", samples.get(name) ?? [], baseline);
    }
    for (const [name, fleet] of fleets) {
      const { waited, all, taken } = await fleet.leases();
      const label = `${name}: commands with a waiting container, of 100`;
      const baseline = `${WITHOUT}: commands with a waiting container, of 100`;
      rows.value(label, "commands", (100 * waited) / all, name === WITHOUT ? undefined : baseline);
      if (name === WITH) rows.value(`${name}: taken by the home, of 100`, "commands", (100 * taken) / all);
    }
    return { rows: rows.rows, goals: [], notes: [] };
  },
};

/** A fleet of its own. `runNext` runs `true` in the next workspace and waits until containers are made and removed. */
async function openFleet(context: BenchmarkContext, offerMs: number) {
  const redis = await startRedisServer();
  context.defer(() => redis.stop());
  const service = await createService(context, { redis: { url: redis.url } });
  const api = await service.start("api");
  const workers: MeteredWorker[] = [];
  for (let n = 0; n < WORKERS; n += 1) {
    const worker = await startMeteredWorker(service.installation, {
      warm: { max_containers: WARM_PER_WORKER, offer_ms: offerMs },
    });
    context.defer(() => worker.stop());
    workers.push(worker);
  }
  const agents: Agent[] = [];
  for (let n = 0; n < WORKSPACES; n += 1) {
    agents.push(await openAgent(service.installation, api, { workspace: `turn-${n}` }));
  }
  const client = createApiClient(api.url);
  context.defer(() => client.close());
  const sum = async (series: string) =>
    (await Promise.all(workers.map((worker) => worker.metric(series)))).reduce((all, each) => all + each, 0);
  const quiet = async () => {
    const untilMs = performance.now() + QUIET_LIMIT_MS;
    const states = ["starting", "leaving"].map((state) => `bailiff_warm_containers{state="${state}"}`);
    // What a lease has made is begun 30 ms behind it.
    for (let calm = 0; calm < 2 && performance.now() < untilMs; ) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      const busy = (await Promise.all(states.map(sum))).some((count) => count > 0);
      calm = busy ? 0 : calm + 1;
    }
  };
  const read = async () => ({
    leases: await Promise.all(LEASES.map((result) => sum(leased(result)))),
    taken: await sum('bailiff_warm_offers_total{result="taken"}'),
  });
  let before = await read();
  let turn = 0;
  return {
    async runNext() {
      const agent = agents[turn % agents.length];
      turn += 1;
      if (agent === undefined) throw new Error("there is no workspace");
      const tookMs = await timed(() => client.run(agent, ["true"]));
      await quiet();
      return tookMs;
    },
    async reset() {
      before = await read();
    },
    async leases() {
      const now = await read();
      const counts = now.leases.map((count, n) => count - (before.leases[n] ?? 0));
      return {
        waited: counts[0] ?? 0,
        all: counts.reduce((all, each) => all + each, 0),
        taken: now.taken - before.taken,
      };
    },
  };
}
