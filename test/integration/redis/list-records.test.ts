import fc from "fast-check";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createKeys } from "../../../src/adapters/redis/keys.js";
import { listRecords } from "../../../src/adapters/redis/list-records.js";
import {
  admitQueued,
  aSession,
  CANCELLED,
  openStoreFixture,
  type StoreFixture,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";

/** More than two of the batches that a listing looks at. */
const RECORDS = 450;

let server: RedisServer;
let fixture: StoreFixture;

beforeAll(async () => {
  server = await startRedisServer();
  fixture = await openStoreFixture(server);
});
afterAll(async () => {
  await fixture?.close();
  await server?.stop();
});

/** The same client, with something that happens in Redis between its looks. */
function withEvents(redis: Redis, beforeLook: () => Promise<void>): Redis {
  return new Proxy(redis, {
    get(target, name) {
      if (name === "pipeline") {
        return () => {
          const pipeline = target.pipeline();
          const exec = pipeline.exec.bind(pipeline);
          return Object.assign(pipeline, {
            exec: async () => {
              await beforeLook();
              return exec();
            },
          });
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

it("a walk through the pages shows each command that lives through it once, newest first, whatever expires meanwhile", async () => {
  const { redis, sessions, commands, deployment } = fixture;
  const keys = createKeys(deployment);
  const session = aSession();
  await sessions.create(session);
  const index = keys.tenantIndex(session.tenant);
  const queued: string[] = [];
  const all: string[] = [];
  for (let i = 0; i < RECORDS; i += 1) {
    const { record } = await admitQueued(fixture, session);
    all.unshift(record.id);
    if (i % 3 === 0) await commands.endUnstarted(record.id, CANCELLED);
    else queued.unshift(record.id);
  }
  const expiry = fc.record({
    atLook: fc.nat(40),
    ids: fc.uniqueArray(fc.constantFrom(...all), { maxLength: 40 }),
    // Retention takes what has expired out of the listing as well, some time later.
    isTrimmed: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(5, 60, 199, 200, 201, RECORDS),
      fc.constantFrom("queued", null),
      fc.array(expiry, { maxLength: 8 }),
      async (limit, wanted, expiries) => {
        const gone = new Set<string>();
        let looks = 0;
        const walked = withEvents(redis, async () => {
          for (const { atLook, ids, isTrimmed } of expiries) {
            if (atLook !== looks) continue;
            for (const id of ids.filter((each) => !gone.has(each))) {
              gone.add(id);
              await redis.rename(keys.command(id), `aside:${id}`);
              if (isTrimmed) await redis.zrem(index, id);
            }
          }
          looks += 1;
        });
        const seen: string[] = [];
        let cursor: string | null = null;
        try {
          do {
            const query = { index, tenant: session.tenant, field: "state" as const, wanted, limit, cursor };
            const page: Awaited<ReturnType<typeof listRecords>> = await listRecords(walked, keys, query);
            expect(page.records.length).toBeLessThanOrEqual(limit);
            seen.push(...page.records.map(({ id }) => id));
            cursor = page.nextCursor;
          } while (cursor !== null);
        } finally {
          for (const id of gone) {
            await redis.rename(`aside:${id}`, keys.command(id));
            await redis.zadd(index, 0, id);
          }
        }
        const listed = wanted === null ? all : queued;
        const wereSeen = new Set(seen);
        // What expired on the way may have been seen before it did.
        expect(seen).toEqual(listed.filter((id) => !gone.has(id) || wereSeen.has(id)));
      },
    ),
    { numRuns: 40 },
  );
});
