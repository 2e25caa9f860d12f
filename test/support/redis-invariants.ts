import { expect } from "vitest";
import { readRecord } from "../../src/adapters/redis/record-format.js";
import type { StoreFixture } from "./redis-fixtures.js";

/** A deployment and a plain client of its Redis. */
type InRedis = Pick<StoreFixture, "deployment" | "redis">;

/** The members that the records of a deployment ask of every set and sorted set which lists commands. */
type Membership = Record<string, string[]>;

/** What a session had before anything was admitted. */
export interface Granted {
  readonly dispatches?: number;
  readonly wallMs?: number;
  readonly cpuMs?: number;
}

/**
 * Compares everything that lists or counts commands with the records themselves, which are the truth.
 * `grants` says what sessions had; a number alone is dispatches.
 */
export async function expectConsistent(
  fixture: InRedis,
  grants: Readonly<Record<string, number | Granted>> = {},
): Promise<void> {
  const prefix = `{bailiff:${fixture.deployment}}:`;
  const names = await keysOf(fixture, prefix);
  const expected: Membership = {};
  const list = (name: string, member: string) => {
    const members = expected[name] ?? [];
    members.push(member);
    expected[name] = members;
  };
  const waiting: Record<string, string[]> = {};
  const reserved: Record<string, number> = {};
  const charged: Record<string, { wallMs: number; cpuMs: number }> = {};

  for (const name of names.filter((each) => each.startsWith("cmd:"))) {
    const record = await fixture.redis.hgetall(prefix + name);
    const { tenant = "", sessionId = "", pool = "", state = "" } = record;
    const id = name.slice("cmd:".length);
    expect(readRecord(record)?.id).toBe(id);
    list(`tenant:${tenant}:index`, id);
    list(`session:${sessionId}:index`, id);
    if (state === "awaiting_approval") list("awaiting", id);
    const approval = record["approvalState"];
    if (approval !== undefined) list(`tenant:${tenant}:approvals`, id);
    if (approval === "pending" || approval === "approved") list("approvals-due", id);
    expect(approval === "pending", `${id} waits if and only if its approval is pending`).toBe(
      approval !== undefined && state === "awaiting_approval",
    );
    if (approval === "approved") expect(state).toBe("queued");
    if (approval === "pending") waiting[sessionId] = [...(waiting[sessionId] ?? []), id];
    if (state === "queued") {
      list("queued", id);
      list(`pool:${pool}:queued`, id);
    }
    if (state === "dispatched") {
      list("dispatched", id);
      if (record["cancelRequested"] === "1") list("cancelling", id);
    }
    if (state === "awaiting_approval" || state === "queued") {
      list(`tenant:${tenant}:waiting`, id);
      list(`session:${sessionId}:waiting`, id);
    }
    if (state === "queued" || state === "dispatched") {
      list(`tenant:${tenant}:in-flight`, id);
      list(`session:${sessionId}:in-flight`, id);
    }
    if (state === "finished") list("closed", `${id}|${tenant}|${sessionId}`);
    else list(`session:${sessionId}:open`, id);
    const ttlMs = await fixture.redis.pttl(prefix + name);
    if (state === "finished") expect(ttlMs, `${id} must expire`).toBeGreaterThan(0);
    else expect(ttlMs, `${id} must not expire`).toBe(-1);
    expect(Object.hasOwn(record, "result"), `${id} has a result if and only if it ended`).toBe(
      state === "finished",
    );
    if (record["reserved"] === "1") reserved[sessionId] = (reserved[sessionId] ?? 0) + 1;
    const sum = charged[sessionId] ?? { wallMs: 0, cpuMs: 0 };
    sum.wallMs += Number(record["chargedWallMs"] ?? 0);
    sum.cpuMs += Number(record["chargedCpuMs"] ?? 0);
    charged[sessionId] = sum;
  }

  for (const name of names.filter((each) => /^session:[^:]+:pending$/.test(each))) {
    const standing = await fixture.redis.hvals(prefix + name);
    const ids = standing.map((each) => each.split("|")[0] ?? "");
    expect(waiting[name.split(":")[1] ?? ""] ?? []).toEqual(expect.arrayContaining(ids));
  }

  const actual: Membership = {};
  for (const name of names.filter(isListing)) actual[name] = await membersOf(fixture, prefix + name);
  for (const members of [...Object.values(expected), ...Object.values(actual)]) members.sort();
  expect(actual).toEqual(expected);

  for (const [sessionId, given] of Object.entries(grants)) {
    const granted: Granted = typeof given === "number" ? { dispatches: given } : given;
    const used = { dispatches: reserved[sessionId] ?? 0, ...(charged[sessionId] ?? { wallMs: 0, cpuMs: 0 }) };
    const session = await fixture.redis.hgetall(`${prefix}session:${sessionId}`);
    if (Object.keys(session).length === 0) continue;
    for (const what of ["dispatches", "wallMs", "cpuMs"] as const) {
      const had = granted[what];
      if (had === undefined) continue;
      expect(Number(session[`${what}Left`]), `${what} left of ${sessionId}`).toBe(had - used[what]);
    }
  }
}

/**
 * Compares what tenants are charged for today with the records, which must all be there still and of today.
 * A charge never outgrows its reservation, and is nothing for a command that never started.
 */
export async function expectUsageOfRecords(fixture: InRedis): Promise<void> {
  const prefix = `{bailiff:${fixture.deployment}}:`;
  const names = await keysOf(fixture, prefix);
  const expected: Record<string, { dispatches: number; wallMs: number; cpuMs: number }> = {};
  for (const name of names.filter((each) => each.startsWith("cmd:"))) {
    const record = await fixture.redis.hgetall(prefix + name);
    if (record["reserved"] === undefined) continue;
    const tenant = record["tenant"] ?? "";
    const sum = expected[tenant] ?? { dispatches: 0, wallMs: 0, cpuMs: 0 };
    if (record["reserved"] === "1") sum.dispatches += 1;
    else expect([record["chargedWallMs"], record["chargedCpuMs"]]).toEqual(["0", "0"]);
    sum.wallMs += Number(record["chargedWallMs"]);
    sum.cpuMs += Number(record["chargedCpuMs"]);
    expected[tenant] = sum;
  }
  const actual: typeof expected = {};
  for (const name of names.filter((each) => /^tenant:[^:]+:usage$/.test(each))) {
    const { dispatches, wallMs, cpuMs } = await fixture.redis.hgetall(prefix + name);
    actual[name.split(":")[1] ?? ""] = {
      dispatches: Number(dispatches),
      wallMs: Number(wallMs),
      cpuMs: Number(cpuMs),
    };
  }
  expect(actual).toEqual(expected);
}

/** Every key of the fixture's deployment, without the common prefix. */
export async function keysOf(
  fixture: InRedis,
  prefix = `{bailiff:${fixture.deployment}}:`,
): Promise<string[]> {
  const names: string[] = [];
  let cursor = "0";
  do {
    const [next, found] = await fixture.redis.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1_000);
    names.push(...found.map((key) => key.slice(prefix.length)));
    cursor = next;
  } while (cursor !== "0");
  return names.sort();
}

function isListing(name: string): boolean {
  if (["awaiting", "queued", "dispatched", "closed", "cancelling", "approvals-due"].includes(name))
    return true;
  return /^(tenant|session|pool):[^:]+:(index|waiting|in-flight|open|queued|approvals)$/.test(name);
}

async function membersOf(fixture: InRedis, key: string): Promise<string[]> {
  const type = await fixture.redis.type(key);
  return type === "set" ? fixture.redis.smembers(key) : fixture.redis.zrange(key, 0, -1);
}
