import { type Agent, openAgent } from "../test/support/bailiff.js";
import { createApiClient } from "./measure/api-client.js";
import { bareContainer } from "./measure/bare-container.js";
import type { Benchmark } from "./measure/benchmark.js";
import { createHandEngine } from "./measure/hand-engine.js";
import { createRows } from "./measure/row.js";
import { keepGoing } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

const LEVELS = [1, 2, 4, 8, 16];
/** Workspaces that take turns, each round at `SPREAD_AT_ONCE`. */
const SPREADS = [10, 100];
const SPREAD_AT_ONCE = 8;

/** Sustained commands per second, the removal of every container included on both sides. */
export const throughput: Benchmark = {
  name: "throughput",
  title: "sustained `true` per second until the last container is removed, against bare containers",
  async run(context) {
    const { environment, runId } = context;
    const engine = createHandEngine(environment.dockerSocket);
    context.defer(() => engine.close());
    const service = await createService(context);
    const bailiff = await service.start("all", { worker: { concurrency: Math.max(...LEVELS) } });
    const client = createApiClient(bailiff.url);
    context.defer(() => client.close());
    const agents: Agent[] = [];
    const withAgents = async (count: number) => {
      while (agents.length < count) {
        const workspace = `w${agents.length}`;
        agents.push(await openAgent(service.installation, bailiff, { workspace }));
      }
    };
    await withAgents(1);
    const forMs = context.size === "quick" ? 3_000 : 8_000;
    const rows = createRows("throughput");
    const best = { bare: 0, bailiff: 0 };

    /** One `true` after the other, in one of so many workspaces each. */
    const sustain = async (concurrency: number, workspaces: number) => {
      let turn = 0;
      const began = performance.now();
      const loop = await keepGoing({ concurrency, forMs, atMost: 1_000 }, () => {
        turn += 1;
        return client.run(agents[turn % workspaces] ?? raise(), ["true"]);
      });
      await service.settled(bailiff);
      return { loop, rate: loop.latenciesMs.length / ((performance.now() - began) / 1000) };
    };

    await client.run(agents[0] ?? raise(), ["true"]);
    await service.settled(bailiff);
    for (const concurrency of LEVELS) {
      context.say(`${concurrency} at once`);
      const bare = await keepGoing({ concurrency, forMs, atMost: 1_000 }, async () => {
        const id = await engine.create(bareContainer(environment, runId));
        await engine.start(id);
        await engine.remove(id);
      });
      const ours = await sustain(concurrency, 1);
      const bareRate = bare.latenciesMs.length / (bare.elapsedMs / 1000);
      const bareLabel = `bare create, start, remove: ${concurrency} at once`;
      rows.value(bareLabel, "per s", bareRate);
      rows.value(`Bailiff over HTTP: ${concurrency} at once`, "per s", ours.rate, bareLabel);
      rows.samples(`  its latency: ${concurrency} at once`, "ms", ours.loop.latenciesMs);
      best.bare = Math.max(best.bare, bareRate);
      best.bailiff = Math.max(best.bailiff, ours.rate);
    }
    const oneLabel = `Bailiff over HTTP: ${SPREAD_AT_ONCE} at once`;
    for (const workspaces of SPREADS) {
      context.say(`${workspaces} workspaces`);
      await withAgents(workspaces);
      const ours = await sustain(SPREAD_AT_ONCE, workspaces);
      const label = `${oneLabel}, in ${workspaces} workspaces`;
      rows.value(label, "per s", ours.rate, oneLabel);
      rows.samples(`  its latency: in ${workspaces} workspaces`, "ms", ours.loop.latenciesMs);
    }
    return {
      rows: rows.rows,
      goals: [
        {
          text: `the best rate is at least that of bare containers (here ${best.bailiff.toFixed(2)} and ${best.bare.toFixed(2)} per s)`,
          met: best.bailiff >= best.bare,
        },
      ],
      notes: [],
    };
  },
};

function raise(): never {
  throw new Error("there is no such workspace");
}
