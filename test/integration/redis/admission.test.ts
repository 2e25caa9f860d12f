import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Session } from "../../../src/domain/session.js";
import type { AdmissionQuotas } from "../../../src/ports/command-store.js";
import {
  aCompletedResult,
  admitQueued,
  aRecord,
  aSession,
  CANCELLED,
  claimFor,
  freshId,
  NO_QUOTAS,
  openStoreFixture,
  type StoreFixture,
} from "../../support/redis-fixtures.js";
import { expectConsistent } from "../../support/redis-invariants.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";

let server: RedisServer;
let fixture: StoreFixture;

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  fixture = await openStoreFixture(server);
});
afterEach(() => fixture.close());

async function createSession(given: Parameters<typeof aSession>[0] = {}): Promise<Session> {
  const session = aSession(given);
  await fixture.sessions.create(session);
  return session;
}

const times = <T>(n: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: n }, (_, i) => make(i)));

describe("admission", () => {
  it("makes one command of 50 concurrent submits with one idempotency key, and tells a changed body apart", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 10 } });
    const idempotency = { key: "any text: {*} \u0000", bodyHash: "h1" };
    const answers = await times(50, () =>
      fixture.commands.admit({
        record: aRecord(session),
        idempotency,
        quotas: NO_QUOTAS,
        sessionVersion: null,
      }),
    );
    expect(answers.filter((answer) => answer.kind === "admitted")).toHaveLength(1);
    const duplicates = answers.filter((answer) => answer.kind === "duplicate");
    expect(duplicates).toHaveLength(49);
    expect(new Set(duplicates.map((answer) => answer.commandId)).size).toBe(1);
    const changed = await fixture.commands.admit({
      record: aRecord(session),
      idempotency: { ...idempotency, bodyHash: "h2" },
      quotas: NO_QUOTAS,
      sessionVersion: null,
    });
    expect(changed).toEqual({ kind: "idempotency_mismatch" });
    await expectConsistent(fixture, { [session.id]: 10 });
  });

  it("keeps the idempotency keys of tenants apart", async () => {
    const mine = await createSession({ tenant: "acme" });
    const theirs = await createSession({ tenant: "other" });
    const idempotency = { key: "k", bodyHash: "h" };
    for (const session of [mine, theirs]) {
      const answer = await fixture.commands.admit({
        record: aRecord(session),
        idempotency,
        quotas: NO_QUOTAS,
        sessionVersion: null,
      });
      expect(answer.kind).toBe("admitted");
    }
  });

  it("answers the same admission again as the first time and takes nothing twice", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 3 } });
    const admission = {
      record: aRecord(session),
      idempotency: null,
      quotas: NO_QUOTAS,
      sessionVersion: null,
    };
    const first = await fixture.commands.admit(admission);
    expect(await fixture.commands.admit(admission)).toEqual(first);
    await expectConsistent(fixture, { [session.id]: 3 });
  });

  it("admits exactly one of 50 concurrent submits against a grant of one", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 1 } });
    const answers = await times(50, () =>
      fixture.commands.admit({
        record: aRecord(session),
        idempotency: null,
        quotas: NO_QUOTAS,
        sessionVersion: null,
      }),
    );
    expect(answers.filter((answer) => answer.kind === "admitted")).toHaveLength(1);
    expect(answers.filter((answer) => answer.kind === "grant_exhausted")).toHaveLength(49);
    await expectConsistent(fixture, { [session.id]: 1 });
  });

  it("gives a dispatch back only for a command that provably never started", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 10 } });
    const left = async () => (await fixture.sessions.get(session.tenant, session.id))?.grant.dispatchesLeft;
    const unstarted = await admitQueued(fixture, session);
    expect(await left()).toBe(9);
    await fixture.commands.endUnstarted(unstarted.record.id, CANCELLED);
    expect(await left()).toBe(10);
    expect(await fixture.commands.endUnstarted(unstarted.record.id, CANCELLED)).toBe(false);
    expect(await left()).toBe(10);
    const ends = [
      { result: aCompletedResult(), leftThen: 9 },
      { result: { ...CANCELLED, outcome: "start_failed" as const }, leftThen: 8 },
      { result: { ...CANCELLED, effect: "unknown" as const }, leftThen: 7 },
      { result: { ...CANCELLED, outcome: "denied" as const }, leftThen: 7 },
    ];
    for (const { result, leftThen } of ends) {
      const { record } = await admitQueued(fixture, session);
      const fence = freshId("fen");
      await claimFor(fixture, record.id, fence);
      await fixture.commands.finish(record.id, fence, result);
      expect(await left()).toBe(leftThen);
    }
    await expectConsistent(fixture, { [session.id]: 10 });
  });

  it("reserves the use of a granted vector and gives it back as it does a dispatch", async () => {
    const vector = { argv: ["make"], match: "exact" as const, usesLeft: 1 };
    const session = await createSession({ grant: { vectors: [{ ...vector, usesLeft: null }, vector] } });
    const submit = (grantedVector: number) => {
      const record = aRecord(session);
      return fixture.commands
        .admit({
          record: { ...record, decision: { ...record.decision, grantedVector } },
          idempotency: null,
          quotas: NO_QUOTAS,
          sessionVersion: null,
        })
        .then((answer) => ({ answer, record }));
    };
    const first = await submit(1);
    expect(first.answer.kind).toBe("admitted");
    expect((await submit(1)).answer).toEqual({ kind: "grant_exhausted" });
    expect((await submit(0)).answer.kind).toBe("admitted");
    await fixture.commands.endUnstarted(first.record.id, CANCELLED);
    expect((await submit(1)).answer.kind).toBe("admitted");
  });

  it("refuses under a session that is gone, of another tenant, revoked or expired", async () => {
    const admit = (record: ReturnType<typeof aRecord>) =>
      fixture.commands
        .admit({ record, idempotency: null, quotas: NO_QUOTAS, sessionVersion: null })
        .then((answer) => answer.kind);
    expect(await admit(aRecord(aSession()))).toBe("session_gone");
    const session = await createSession();
    expect(await admit({ ...aRecord(session), tenant: "other" })).toBe("session_gone");
    expect(await admit(aRecord(await createSession({ grant: { revoked: true } })))).toBe("grant_exhausted");
    const expired = await createSession({ grant: { expiresAtMs: Date.now() - 1 } });
    expect(await admit(aRecord(expired))).toBe("grant_exhausted");
    const expiring = await createSession({ grant: { expiresAtMs: Date.now() + 60_000 } });
    expect(await admit(aRecord(expiring))).toBe("admitted");
    await fixture.sessions.remove(session.tenant, session.id);
    expect(await admit(aRecord(session))).toBe("session_gone");
  });

  const bounded: [keyof AdmissionQuotas, number][] = [
    ["tenantQueued", 7],
    ["tenantConcurrent", 7],
    ["sessionQueued", 7],
    ["totalQueued", 7],
    ["tenantRequestsPerMinute", 7],
  ];
  it.each(bounded)("admits no more than %s permits of 50 concurrent submits", async (quota, limit) => {
    const session = await createSession();
    const createdAtMs = Date.now();
    const answers = await times(50, () =>
      fixture.commands.admit({
        record: aRecord(session, { createdAtMs }),
        idempotency: null,
        quotas: { ...NO_QUOTAS, [quota]: limit },
        sessionVersion: null,
      }),
    );
    expect(answers.filter((answer) => answer.kind === "admitted")).toHaveLength(limit);
    const refused = answers.filter((answer) => answer.kind === "quota");
    expect(refused).toHaveLength(50 - limit);
    for (const answer of refused) {
      expect(answer).toMatchObject({ quota, limit });
      expect(answer.retryAfterMs).toBeGreaterThan(0);
    }
    await expectConsistent(fixture);
  });

  it("counts what awaits approval as queued, and what runs as concurrent, until they end", async () => {
    const session = await createSession();
    const submit = (state: "queued" | "awaiting_approval", quotas: Partial<AdmissionQuotas>) => {
      const record = aRecord(session, { state });
      return fixture.commands
        .admit({ record, idempotency: null, quotas: { ...NO_QUOTAS, ...quotas }, sessionVersion: null })
        .then((answer) => ({ id: record.id, kind: answer.kind }));
    };
    const awaiting = await submit("awaiting_approval", { tenantQueued: 1 });
    expect((await submit("queued", { tenantQueued: 1 })).kind).toBe("quota");
    const running = await submit("queued", { tenantConcurrent: 1 });
    await claimFor(fixture, running.id, "fen_a");
    expect((await submit("queued", { tenantConcurrent: 1 })).kind).toBe("quota");
    expect((await submit("awaiting_approval", { tenantQueued: 1 })).kind).toBe("quota");
    await fixture.commands.finish(running.id, "fen_a", aCompletedResult());
    await fixture.commands.endUnstarted(awaiting.id, CANCELLED);
    expect((await submit("queued", { tenantConcurrent: 1, tenantQueued: 1 })).kind).toBe("admitted");
  });

  it("says when the next request of a tenant over its rate is welcome, and takes it then", async () => {
    const session = await createSession();
    const submit = () =>
      fixture.commands.admit({
        record: aRecord(session),
        idempotency: null,
        quotas: { ...NO_QUOTAS, tenantRequestsPerMinute: 60 },
        sessionVersion: null,
      });
    // As it stands after sixty requests just now: a minute ahead of the time.
    const [seconds] = await fixture.redis.time();
    await fixture.redis.set(
      `{bailiff:${fixture.deployment}}:tenant:acme:rate`,
      (Number(seconds) + 60) * 1_000,
    );
    const refused = await submit();
    if (refused.kind !== "quota") throw new Error(refused.kind);
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(1_000);
    await new Promise((resolve) => setTimeout(resolve, refused.retryAfterMs + 5));
    expect((await submit()).kind).toBe("admitted");
    expect((await submit()).kind).toBe("quota");
  });

  it("changes nothing at all when it refuses", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 0 } });
    const before = await fixture.redis.dbsize();
    await fixture.commands.admit({
      record: aRecord(session),
      idempotency: { key: "k", bodyHash: "h" },
      quotas: { ...NO_QUOTAS, tenantRequestsPerMinute: 5 },
      sessionVersion: null,
    });
    expect(await fixture.redis.dbsize()).toBe(before);
  });
});

describe("sessions", () => {
  it("show what is left of the grant and where they are, to their own tenant alone", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 2, expiresAtMs: 9_999_999_999_999 } });
    expect(await fixture.sessions.get("acme", session.id)).toEqual(session);
    expect(await fixture.sessions.get("other", session.id)).toBeNull();
    expect(await fixture.sessions.setCwd("other", session.id, "x")).toBe(false);
    expect(await fixture.sessions.setCwd("acme", session.id, "a/b")).toBe(true);
    expect((await fixture.sessions.get("acme", session.id))?.cwd).toBe("a/b");
    expect(await fixture.sessions.remove("other", session.id)).toBeNull();
    expect(await fixture.sessions.ofWorkspace("acme", "ws1")).toEqual([session.id]);
    expect(await fixture.sessions.ofWorkspace("other", "ws1")).toEqual([]);
  });

  it("are listed newest first, page by page, each once", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) ids.unshift((await createSession()).id);
    await createSession({ tenant: "other" });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof fixture.sessions.list>> = await fixture.sessions.list(
        "acme",
        3,
        cursor,
      );
      seen.push(...page.sessions.map((each) => each.id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(ids);
  });

  it("end at once: what was queued under them is never claimed, and removing them again finds nothing", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 5 } });
    const queued = await admitQueued(fixture, session);
    const ended = await admitQueued(fixture, session);
    await fixture.commands.endUnstarted(ended.record.id, CANCELLED);
    expect(await fixture.sessions.remove("acme", session.id)).toEqual([queued.record.id]);
    expect(await fixture.sessions.remove("acme", session.id)).toBeNull();
    expect(await fixture.sessions.setCwd("acme", session.id, "x")).toBe(false);
    expect(await claimFor(fixture, queued.record.id)).toEqual({ kind: "not_queued", state: "finished" });
    expect((await fixture.commands.get(queued.record.id))?.result).toMatchObject({
      outcome: "cancelled",
      effect: "none",
    });
    expect(await fixture.sessions.list("acme", 10, null)).toEqual({ sessions: [], nextCursor: null });
    expect(await fixture.sessions.ofWorkspace("acme", "ws1")).toEqual([]);
    await expectConsistent(fixture);
  });
});

describe("listing commands", () => {
  it("goes newest first through pages, by session and by state, and never into another tenant", async () => {
    const session = await createSession();
    const second = await createSession();
    const foreign = await createSession({ tenant: "other" });
    const ids: string[] = [];
    for (let i = 0; i < 9; i += 1) {
      const { record } = await admitQueued(fixture, i % 3 === 0 ? second : session);
      ids.unshift(record.id);
      if (i % 2 === 0) await fixture.commands.endUnstarted(record.id, CANCELLED);
    }
    const hidden = await admitQueued(fixture, foreign);
    const all = async (query: {
      sessionId: string | null;
      state: "queued" | "finished" | null;
      tenant?: string;
    }) => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof fixture.commands.list>> = await fixture.commands.list({
          tenant: "acme",
          ...query,
          limit: 2,
          cursor,
        });
        expect(page.records.length).toBeLessThanOrEqual(2);
        seen.push(...page.records.map((each) => each.id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      return seen;
    };
    const newestFirst = (keep: (age: number) => boolean) => ids.filter((_, i) => keep(8 - i));
    expect(await all({ sessionId: null, state: null })).toEqual(ids);
    expect(await all({ sessionId: second.id, state: null })).toEqual(newestFirst((n) => n % 3 === 0));
    expect(await all({ sessionId: null, state: "finished" })).toEqual(newestFirst((n) => n % 2 === 0));
    expect(await all({ sessionId: session.id, state: "queued" })).toEqual(
      newestFirst((n) => n % 3 !== 0 && n % 2 === 1),
    );
    expect(await all({ sessionId: foreign.id, state: null })).toEqual([]);
    expect(await all({ sessionId: null, state: null, tenant: "other" })).toEqual([hidden.record.id]);
  });

  it("leaves the text of streams out, which the command itself shows", async () => {
    const session = await createSession();
    const { record } = await admitQueued(fixture, session);
    await claimFor(fixture, record.id, "fen_a");
    const result = aCompletedResult({ output: { stdout: "x".repeat(1_000), stderr: "\u0000\u{1F600}" } });
    await fixture.commands.finish(record.id, "fen_a", result);
    const page = await fixture.commands.list({
      tenant: "acme",
      sessionId: null,
      state: null,
      limit: 5,
      cursor: null,
    });
    expect(page.records[0]?.result).toEqual({ ...result, output: null });
    expect((await fixture.commands.get(record.id))?.result).toEqual(result);
  });
});
