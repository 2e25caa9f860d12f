import { openAgent } from "../test/support/bailiff.js";
import { startRedisServer } from "../test/support/redis-server.js";
import { createApiClient } from "./measure/api-client.js";
import type { Benchmark } from "./measure/benchmark.js";
import { residentMib, watchMemory } from "./measure/memory-watch.js";
import { createRows } from "./measure/row.js";
import { keepGoing, timed } from "./measure/sampling.js";
import { createService } from "./measure/service.js";

const STREAMS = 32;

/** One tenant's flood of output: what it does to the worker's memory and to somebody else's command. */
export const flood: Benchmark = {
  name: "flood",
  title: `${STREAMS} \`yes\` at once and again, by one tenant, with as many slots; another tenant's \`true\` meanwhile`,
  async run(context) {
    const redis = await startRedisServer();
    context.defer(() => redis.stop());
    const service = await createService(context, { redis: { url: redis.url } });
    const worker = await service.start("worker", {
      worker: { concurrency: STREAMS, warm: { max_containers: 0 } },
    });
    const api = await service.start("api");
    const loud = await openAgent(service.installation, api, { tenant: "loud" });
    const quiet = await openAgent(service.installation, api, { tenant: "quiet" });
    const client = createApiClient(api.url);
    context.defer(() => client.close());
    const pid = worker.child.pid;
    if (pid === undefined) throw new Error("the worker has no process id");
    const [forMs, samples] = context.size === "quick" ? [8_000, 8] : [25_000, 30];

    await client.run(quiet, ["true"]);
    context.say("the other tenant alone");
    const alone = await keepGoing({ concurrency: 1, forMs, atMost: samples }, () =>
      client.run(quiet, ["true"]),
    );
    const idleMib = residentMib(pid);

    context.say(`${STREAMS} yes at once`);
    const memory = watchMemory(pid);
    const meanwhile: number[] = [];
    let flooding = true;
    const other = (async () => {
      while (flooding) meanwhile.push(await timed(() => client.run(quiet, ["true"])));
    })();
    const [yes] = await Promise.all([
      keepGoing({ concurrency: STREAMS, forMs, atMost: 2_000 }, () =>
        client.run(loud, ["yes"], "output_limit_exceeded"),
      ).finally(() => {
        flooding = false;
      }),
      other,
    ]);
    const failures = (await worker.log()).split("no container could be made ready").length - 1;
    const peakMib = Math.max(...memory.stop());

    const rows = createRows("flood");
    const aloneLabel = "another tenant's true, nobody else there";
    rows.samples(aloneLabel, "ms", alone.latenciesMs);
    rows.samples("another tenant's true during the flood", "ms", meanwhile, aloneLabel);
    rows.samples("one yes of the flood, to its output limit", "ms", yes.latenciesMs);
    const idleLabel = "worker's resident memory before";
    rows.value(idleLabel, "MiB", idleMib);
    rows.value("worker's resident memory, peak", "MiB", peakMib, idleLabel);
    rows.value("peak above idle, per stream", "MiB", (peakMib - idleMib) / STREAMS);
    return {
      rows: rows.rows,
      goals: [],
      notes: [
        `flood: ${yes.latenciesMs.length} \`yes\` in ${(yes.elapsedMs / 1000).toFixed(0)} s; ${failures} containers were not ready in time and made again.`,
      ],
    };
  },
};
