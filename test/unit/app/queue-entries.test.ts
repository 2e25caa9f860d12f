import { expect, it } from "vitest";
import { createReadQueueEntries } from "../../../src/app/queue-entries.js";

it("the entries of each pool's queue are counted once, by the states that are work for its workers", async () => {
  const asked: (readonly string[])[] = [];
  const read = createReadQueueEntries({
    pools: () => ["default", "large", "default"],
    queue: {
      depths: async (pools) => {
        asked.push(pools);
        return pools.map((pool, i) => ({ pool, waiting: i, prioritized: 10 + i, active: 4, delayed: 9 }));
      },
    },
  });
  expect(await read()).toEqual([
    { labels: { pool: "default", state: "waiting" }, value: 0 },
    { labels: { pool: "default", state: "prioritized" }, value: 10 },
    { labels: { pool: "default", state: "active" }, value: 4 },
    { labels: { pool: "large", state: "waiting" }, value: 1 },
    { labels: { pool: "large", state: "prioritized" }, value: 11 },
    { labels: { pool: "large", state: "active" }, value: 4 },
  ]);
  expect(asked).toEqual([["default", "large"]]);
});
