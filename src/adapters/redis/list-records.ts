import type { Redis } from "ioredis";
import type { CommandRecord } from "../../domain/command.js";
import type { CommandPage } from "../../ports/command-store.js";
import type { Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import { readListed } from "./read-listed.js";
import { isKnownFormat } from "./record-format.js";
import { orUnavailable } from "./store-failure.js";

/** How many ids one listing looks at for a state before it answers with a cursor. */
const LIST_SCAN_LIMIT = 2_000;
const LIST_SCAN_BATCH = 200;

/** One page of the commands in an index, newest first; of those alone whose `field` is `wanted`, unless that is null. Without those of a newer format. */
export async function listRecords(
  redis: Redis,
  keys: Keys,
  query: {
    readonly index: string;
    readonly tenant: string;
    readonly field: "state" | "approvalState";
    readonly wanted: string | null;
    readonly limit: number;
    readonly cursor: string | null;
  },
): Promise<CommandPage> {
  const { index, tenant, field, wanted, limit, cursor } = query;
  const records: CommandRecord[] = [];
  let after = cursor;
  for (let scanned = 0; scanned < LIST_SCAN_LIMIT; scanned += LIST_SCAN_BATCH) {
    const ids = await orUnavailable(() =>
      redis.zrevrangebylex(index, after === null ? "+" : `(${after}`, "-", "LIMIT", 0, LIST_SCAN_BATCH),
    );
    const pipeline = redis.pipeline();
    for (const id of ids) pipeline.hmget(keys.command(id), field, "formatVersion");
    const seen = (await runPipeline(pipeline)) as (string | null)[][];
    const matching = ids.filter((_, i) => {
      const [value = null, formatVersion = null] = seen[i] ?? [];
      // What a newer version wrote must not hide everything else.
      return value !== null && (wanted === null || value === wanted) && isKnownFormat({ formatVersion });
    });
    const looked = matching.slice(0, limit - records.length);
    for (const record of await readListed(redis, keys, looked)) {
      // A session's id is not yet a right to see its commands.
      if (record?.tenant === tenant) records.push(record);
    }
    const last = records.at(-1)?.id ?? null;
    if (records.length >= limit)
      return { records, nextCursor: last === ids.at(-1) && ids.length < LIST_SCAN_BATCH ? null : last };
    if (looked.length < matching.length) {
      // One of those expired between the two looks: the page goes on behind the last that was looked at, not behind the batch.
      after = looked.at(-1) ?? null;
      continue;
    }
    if (ids.length < LIST_SCAN_BATCH) return { records, nextCursor: null };
    after = ids.at(-1) ?? null;
  }
  return { records, nextCursor: after };
}
