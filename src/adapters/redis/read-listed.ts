import type { Redis } from "ioredis";
import type { CommandRecord } from "../../domain/command.js";
import type { Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import { LISTED_FIELDS, readRecord } from "./record-format.js";

/** Records without their streams' text, in the order of the ids; null for one that is gone. */
export async function readListed(
  redis: Redis,
  keys: Keys,
  commandIds: readonly string[],
): Promise<(CommandRecord | null)[]> {
  const pipeline = redis.pipeline();
  for (const id of commandIds) pipeline.hmget(keys.command(id), ...LISTED_FIELDS);
  const rows = (await runPipeline(pipeline)) as (string | null)[][];
  return rows.map((row) =>
    readRecord(Object.fromEntries(LISTED_FIELDS.map((name, i) => [name, row[i] ?? null]))),
  );
}
