import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CommandRecord } from "../../../src/domain/command.js";
import type { Label } from "../../../src/domain/data-flow/label.js";
import type { Session } from "../../../src/domain/session.js";
import {
  admitQueued,
  aRecord,
  aSession,
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

const label = (sensitivity: string, tenant = "acme"): Label => ({
  sensitivity,
  trust: "unknown",
  categories: [],
  tenant,
});

async function createSession(given: Parameters<typeof aSession>[0] = {}): Promise<Session> {
  const session = aSession(given);
  await fixture.sessions.create(session);
  return session;
}

const now = async (session: Session) => fixture.sessions.get(session.tenant, session.id);

function decided(session: Session, effectiveLabel: Label, given: Partial<CommandRecord> = {}): CommandRecord {
  const record = aRecord(session, given);
  return { ...record, decision: { ...record.decision, effectiveLabel } };
}

const admit = (record: CommandRecord, sessionVersion: number | null) =>
  fixture.commands.admit({ record, idempotency: null, quotas: NO_QUOTAS, sessionVersion });

describe("a session", () => {
  it("is another version after each change that a decision depends on, and the same after none", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 5 } });
    const version = async () => (await now(session))?.version;
    expect(await version()).toBe(1);
    await fixture.sessions.setCwd("acme", session.id, "a");
    expect(await version()).toBe(2);
    await fixture.sessions.setCwd("acme", session.id, "a");
    expect(await version()).toBe(2);
    const change = { tenant: "acme", sessionId: session.id, objectId: "o1", maxObjects: 5 };
    await fixture.sessions.putObject({ ...change, expected: null, label: label("normal") });
    expect(await version()).toBe(3);
    await fixture.sessions.putObject({ ...change, expected: label("normal"), label: label("normal") });
    expect(await version()).toBe(3);
    await admit(decided(session, label("public")), 3);
    expect(await version()).toBe(3);
    await admit(decided(session, label("normal")), 3);
    expect(await version()).toBe(4);
    await fixture.sessions.revoke("acme", session.id);
    await fixture.sessions.revoke("acme", session.id);
    expect(await version()).toBe(5);
  });

  it("takes the label of each admitted command, of a denied one never", async () => {
    const session = await createSession();
    await admit(decided(session, label("secret"), { state: "finished" }), 1);
    expect((await now(session))?.label).toEqual(label("public"));
    await admit(decided(session, label("secret"), { state: "awaiting_approval" }), 1);
    expect((await now(session))?.label).toEqual(label("secret"));
  });

  it("lets one of 50 decisions that raise its label in, and asks for the others again", async () => {
    const session = await createSession();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => admit(decided(session, label("normal")), 1)),
    );
    expect(answers.filter((answer) => answer.kind === "admitted")).toHaveLength(1);
    expect(answers.filter((answer) => answer.kind === "session_changed")).toHaveLength(49);
    expect((await admit(decided(session, label("normal")), 2)).kind).toBe("admitted");
    expect((await admit(decided(session, label("normal"), { state: "finished" }), 1)).kind).toBe(
      "session_changed",
    );
    await expectConsistent(fixture);
  });

  it("is seen by a claim as the re-check saw it, or the claim is refused", async () => {
    const session = await createSession();
    const { record } = await admitQueued(fixture, session);
    const claim = (sessionVersion: number) =>
      fixture.commands.claim({
        commandId: record.id,
        workerId: fixture.workerId,
        fence: freshId("fen"),
        containerId: "c",
        seen: { sessionVersion, label: label("confidential") },
      });
    await fixture.sessions.setCwd("acme", session.id, "elsewhere");
    expect(await claim(1)).toEqual({ kind: "session_changed" });
    expect((await fixture.commands.get(record.id))?.state).toBe("queued");
    expect(await claim(2)).toMatchObject({ kind: "claimed", record: { label: label("confidential") } });
    expect(await now(session)).toMatchObject({ label: label("confidential"), version: 3 });
  });
});

describe("revoking a grant", () => {
  it("stops admission and every claim at once, and leaves the session to be read", async () => {
    const session = await createSession({ grant: { dispatchesLeft: 5 } });
    const queued = await admitQueued(fixture, session);
    const running = await admitQueued(fixture, session);
    await claimFor(fixture, running.record.id, "fen_a");
    expect(await fixture.sessions.revoke("other", session.id)).toBe(false);
    expect(await fixture.sessions.revoke("acme", session.id)).toBe(true);
    expect((await now(session))?.grant.revoked).toBe(true);
    expect((await admit(aRecord(session), null)).kind).toBe("grant_exhausted");
    expect(await claimFor(fixture, queued.record.id)).toEqual({ kind: "not_queued", state: "finished" });
    expect((await fixture.commands.get(queued.record.id))?.result).toMatchObject({
      outcome: "denied",
      effect: "none",
    });
    expect((await fixture.commands.get(running.record.id))?.state).toBe("dispatched");
    expect((await now(session))?.grant.dispatchesLeft).toBe(4);
    expect(await fixture.sessions.revoke("acme", freshId("ses"))).toBe(false);
    await expectConsistent(fixture, { [session.id]: 5 });
  });

  it("lets no command through when it races 200 claims", async () => {
    for (let i = 0; i < 20; i += 1) {
      const session = await createSession();
      const records = await Promise.all(Array.from({ length: 10 }, () => admitQueued(fixture, session)));
      let isRevoked = false;
      const claims = await Promise.all(
        records.map(async ({ record }, nth) => {
          if (nth === 5) {
            await fixture.sessions.revoke("acme", session.id);
            isRevoked = true;
          }
          const isLate = isRevoked;
          return { isLate, kind: (await claimFor(fixture, record.id)).kind };
        }),
      );
      for (const { isLate, kind } of claims) if (isLate) expect(kind).toBe("not_queued");
    }
  });

  it("is what the end of a grant's time is to a claim", async () => {
    const session = await createSession({ grant: { expiresAtMs: Date.now() + 60_000 } });
    const { record } = await admitQueued(fixture, session);
    await fixture.redis.hset(
      `{bailiff:${fixture.deployment}}:session:${session.id}`,
      "expiresAtMs",
      Date.now() - 1,
    );
    expect(await claimFor(fixture, record.id)).toEqual({ kind: "not_queued", state: "finished" });
    expect((await fixture.commands.get(record.id))?.result?.outcome).toBe("denied");
  });
});

describe("source objects", () => {
  const put = (session: Session, objectId: string, expected: Label | null, next: Label, maxObjects = 10) =>
    fixture.sessions.putObject({
      tenant: session.tenant,
      sessionId: session.id,
      objectId,
      expected,
      label: next,
      maxObjects,
    });

  it("are set where they are as the caller saw them, and nowhere else", async () => {
    const session = await createSession();
    expect(await put(session, "o1", null, label("normal"))).toBe("done");
    expect(await put(session, "o1", null, label("secret"))).toBe("changed_meanwhile");
    expect(await put(session, "o1", label("public"), label("secret"))).toBe("changed_meanwhile");
    expect(await put(session, "o1", label("normal"), label("secret"))).toBe("done");
    expect(await fixture.sessions.objectLabels("acme", session.id, ["o2", "o1"])).toEqual([
      null,
      label("secret"),
    ]);
    expect(await fixture.sessions.objectLabels("acme", session.id, [])).toEqual([]);
    expect(await put(aSession(), "o1", null, label("normal"))).toBe("session_gone");
  });

  it("are no other tenant's, and go with their session", async () => {
    const session = await createSession();
    await put(session, "o1", null, label("normal"));
    expect(await put({ ...session, tenant: "other" }, "o2", null, label("normal", "other"))).toBe(
      "session_gone",
    );
    expect(await fixture.sessions.objectLabels("other", session.id, ["o1"])).toEqual([null]);
    await fixture.sessions.remove("acme", session.id);
    expect(await fixture.redis.exists(`{bailiff:${fixture.deployment}}:session:${session.id}:objects`)).toBe(
      0,
    );
  });

  it("are no more than their bound, with 50 concurrent puts, and known ones can still rise", async () => {
    const session = await createSession();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => put(session, `o${i}`, null, label("normal"), 7)),
    );
    expect(answers.filter((answer) => answer === "done")).toHaveLength(7);
    expect(answers.filter((answer) => answer === "too_many")).toHaveLength(43);
    expect(await put(session, "o0", label("normal"), label("secret"), 7)).toBe("done");
  });
});
