import { openAgent } from "../test/support/bailiff.js";
import { createApiClient } from "./measure/api-client.js";
import { bareContainer } from "./measure/bare-container.js";
import type { Benchmark } from "./measure/benchmark.js";
import { createHandEngine } from "./measure/hand-engine.js";
import { createRows } from "./measure/row.js";
import { keepGoing } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

const LEVELS = [1, 2, 4, 8, 16];

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
    const tenant = await openAgent(service.installation, bailiff);
    const client = createApiClient(bailiff.url);
    context.defer(() => client.close());
    const forMs = context.size === "quick" ? 3_000 : 8_000;
    const rows = createRows("throughput");
    const best = { bare: 0, bailiff: 0 };

    await client.run(tenant, ["true"]);
    for (const concurrency of LEVELS) {
      context.say(`${concurrency} at once`);
      const bound = { concurrency, forMs, atMost: 1_000 };
      const bare = await keepGoing(bound, async () => {
        const id = await engine.create(bareContainer(environment, runId));
        await engine.start(id);
        await engine.remove(id);
      });
      const began = performance.now();
      const ours = await keepGoing(bound, () => client.run(tenant, ["true"]));
      await service.containersGone();
      const oursMs = performance.now() - began;

      const bareRate = bare.latenciesMs.length / (bare.elapsedMs / 1000);
      const oursRate = ours.latenciesMs.length / (oursMs / 1000);
      const bareLabel = `bare create, start, remove: ${concurrency} at once`;
      rows.value(bareLabel, "per s", bareRate);
      rows.value(`Bailiff over HTTP: ${concurrency} at once`, "per s", oursRate, bareLabel);
      rows.samples(`  its latency: ${concurrency} at once`, "ms", ours.latenciesMs);
      best.bare = Math.max(best.bare, bareRate);
      best.bailiff = Math.max(best.bailiff, oursRate);
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
