import { Redis } from "ioredis";
import { createKeys } from "../src/adapters/redis/keys.js";
import type { Benchmark } from "./measure/benchmark.js";
import { createControlPlane, openSubmitter } from "./measure/control-plane.js";
import { createRows } from "./measure/row.js";
import { keepGoing } from "./measure/sampling.js";

const PROBES = 200;
const SUBMITTERS = 32;

/** What one queued command costs: time to admit it, and Redis memory until it has ended. */
export const queue: Benchmark = {
  name: "queue",
  title: "decide, admit and enqueue without HTTP and without a worker; append-only file on",
  async run(context) {
    const depth = { quick: 1_000, normal: 10_000, full: 100_000 }[context.size];
    const { foundation, redis: server } = await createControlPlane(context);
    const submitter = await openSubmitter(foundation, "acme");
    const redis = new Redis(server.url);
    context.defer(() => redis.disconnect());
    const infoOf = async (section: string, field: string): Promise<number> => {
      const text = await redis.info(section);
      return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(text)?.[1] ?? Number.NaN);
    };
    const one = () => submitter.submit(0);
    const oneByOne = () => keepGoing({ concurrency: 1, forMs: 60_000, atMost: PROBES }, one);

    // Scripts, connections and compiled code are not part of what a command costs.
    await keepGoing({ concurrency: 1, forMs: 60_000, atMost: PROBES }, one);
    const early = await oneByOne();
    const memoryBefore = await infoOf("memory", "used_memory");
    const fileBefore = await infoOf("persistence", "aof_current_size");
    context.say(`queueing ${depth} commands`);
    const filled = await keepGoing({ concurrency: SUBMITTERS, forMs: 300_000, atMost: depth }, one);
    const count = filled.latenciesMs.length;
    const memory = ((await infoOf("memory", "used_memory")) - memoryBefore) / count;
    const file = ((await infoOf("persistence", "aof_current_size")) - fileBefore) / count;
    const late = await oneByOne();

    const last = await one();
    const keys = createKeys(foundation.config.deployment);
    const sizeOf = async (key: string) => (await redis.memory("USAGE", key, "SAMPLES", 0)) ?? 0;
    const record = await sizeOf(keys.command(last.id));
    const envelope = await sizeOf(keys.envelope(last.pool, last.id));

    const rows = createRows("queue");
    const named = depth.toLocaleString("en-US");
    const emptyLabel = "one command, queue nearly empty";
    rows.samples(emptyLabel, "ms", early.latenciesMs);
    rows.samples(`one command, ${named} queued`, "ms", late.latenciesMs, emptyLabel);
    rows.value(`commands queued, ${SUBMITTERS} at once`, "per s", count / (filled.elapsedMs / 1000));
    const memoryLabel = `Redis memory per queued command, at ${named}`;
    rows.value(memoryLabel, "bytes", memory);
    rows.value("  of it the command's record", "bytes", record, memoryLabel);
    rows.value("  of it the queue's envelope", "bytes", envelope, memoryLabel);
    rows.value("  of it indexes and the rest", "bytes", memory - record - envelope, memoryLabel);
    rows.value("append-only file per queued command", "bytes", file);
    return {
      rows: rows.rows,
      goals: [],
      notes: count < depth ? [`queue: only ${count} of ${depth} were queued in five minutes.`] : [],
    };
  },
};
