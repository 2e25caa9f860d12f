import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CommandRecord } from "../../../src/domain/command.js";
import { neverStarted } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import type { ApprovalAnswer } from "../../../src/ports/approval-store.js";
import { admitAsked, anAskedRecord } from "../../support/asked-command.js";
import {
  aCompletedResult,
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
import { until } from "../../support/until.js";

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

async function openSession(given: Parameters<typeof aSession>[0] = {}) {
  const session = aSession(given);
  await fixture.sessions.create(session);
  return session;
}

function decide(
  record: CommandRecord,
  decision: "approve" | "deny",
  more: { principalId?: string; allowSelf?: boolean; note?: string; tenantConcurrent?: number } = {},
): Promise<ApprovalAnswer> {
  return fixture.approvals.decide({
    commandId: record.id,
    tenant: record.tenant,
    decision,
    principalId: more.principalId ?? "reviewer",
    note: more.note ?? null,
    allowSelf: more.allowSelf ?? false,
    tenantWeight: 1,
    tenantConcurrent: more.tenantConcurrent ?? null,
    deniedResult: unstartedResult(neverStarted("approval_denied", "a person denied it")),
  });
}

const get = async (record: CommandRecord) => {
  const found = await fixture.commands.get(record.id);
  if (found === null) throw new Error("the command is gone");
  return found;
};

describe("approvals in Redis", () => {
  it("lead from the wait over the yes to exactly one dispatch, and are consumed though the run fails (FB-35)", async () => {
    const session = await openSession({ grant: { dispatchesLeft: 3 } });
    const record = await admitAsked(fixture, session);
    const waiting = await get(record);
    expect(waiting.approval).toMatchObject({ id: record.approvalId, state: "pending", decidedBy: null });
    expect(waiting.approval?.expiresAtMs).toBeGreaterThan(Date.now());
    await expectConsistent(fixture, { [session.id]: 3 });

    expect(await claimFor(fixture, record.id)).toEqual({ kind: "not_queued", state: "awaiting_approval" });
    const answer = await decide(record, "approve", { note: "looks right" });
    expect(answer).toEqual({ kind: "approved", priority: 1 });
    expect(await get(record)).toMatchObject({
      state: "queued",
      approval: { state: "approved", decidedBy: "reviewer", note: "looks right" },
    });
    await expectConsistent(fixture, { [session.id]: 3 });

    const fence = freshId("fen");
    expect((await claimFor(fixture, record.id, fence)).kind).toBe("claimed");
    expect((await get(record)).approval?.state).toBe("consumed");
    await fixture.commands.finish(record.id, fence, aCompletedResult({ returncode: 1 }));
    expect(await get(record)).toMatchObject({ state: "finished", approval: { state: "consumed" } });
    expect(await decide(record, "approve")).toEqual({ kind: "settled", state: "consumed" });
    await expectConsistent(fixture, { [session.id]: 3 });
  });

  it("dispatch once under 50 concurrent claims, and let one of 50 concurrent yeses stand (FB-35)", async () => {
    const record = await admitAsked(fixture, await openSession());
    const yeses = await Promise.all(Array.from({ length: 50 }, () => decide(record, "approve")));
    expect(yeses.filter(({ kind }) => kind === "approved")).toHaveLength(1);
    expect(yeses.filter(({ kind }) => kind === "settled")).toHaveLength(49);
    const claims = await Promise.all(Array.from({ length: 50 }, () => claimFor(fixture, record.id)));
    expect(claims.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    await expectConsistent(fixture);
  });

  it("are one for 50 concurrent identical submits, and another for another binding (FB-35)", async () => {
    const session = await openSession({ grant: { dispatchesLeft: 60 } });
    const submit = (binding: string) =>
      fixture.commands.admit({
        record: anAskedRecord(session, { binding }),
        idempotency: null,
        quotas: NO_QUOTAS,
        sessionVersion: null,
        approvalExpiryMs: 60_000,
      });
    const answers = await Promise.all(Array.from({ length: 50 }, () => submit("1".repeat(64))));
    expect(answers.filter(({ kind }) => kind === "admitted")).toHaveLength(1);
    const joined = new Set(answers.flatMap((each) => (each.kind === "joined" ? [each.commandId] : [])));
    expect(joined.size).toBe(1);
    expect((await submit("2".repeat(64))).kind).toBe("admitted");
    const { records } = await fixture.approvals.list({
      tenant: session.tenant,
      state: "pending",
      limit: 10,
      cursor: null,
    });
    expect(records).toHaveLength(2);
    await expectConsistent(fixture, { [session.id]: 60 });

    const first = records.find(({ id }) => joined.has(id));
    if (first === undefined) throw new Error("the joined command is not listed");
    await decide(first, "deny");
    expect((await submit("1".repeat(64))).kind).toBe("admitted");
  });

  it("answer a repeated key with the command that its submit joined", async () => {
    const session = await openSession();
    const first = await admitAsked(fixture, session);
    const admission = () => ({
      record: anAskedRecord(session),
      idempotency: { key: "k", bodyHash: "h" },
      quotas: NO_QUOTAS,
      sessionVersion: null,
      approvalExpiryMs: 60_000,
    });
    expect(await fixture.commands.admit(admission())).toEqual({ kind: "joined", commandId: first.id });
    expect(await fixture.commands.admit(admission())).toEqual({ kind: "duplicate", commandId: first.id });
  });

  it("settle approve, deny, cancel and expiry once, whoever comes first (FB-35)", async () => {
    const session = await openSession({ grant: { dispatchesLeft: 200 } });
    const seen = new Set<string>();
    for (let round = 0; round < 40; round += 1) {
      const record = await admitAsked(fixture, session, { binding: String(round).padStart(64, "0") }, 12);
      const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 24));
      const soon = async <T>(act: () => Promise<T>) => {
        await pause();
        return act();
      };
      const [yes, no, cancel, expired] = await Promise.all([
        soon(() => decide(record, "approve")),
        soon(() => decide(record, "deny")),
        soon(() => fixture.commands.requestCancel(record.id, CANCELLED)),
        soon(() => fixture.approvals.expire(record.id)),
      ]);
      const { state, approval, result } = await get(record);
      seen.add(approval?.state ?? "none");
      if (no.kind === "denied") expect(yes.kind).toBe("settled");
      if (state === "queued") {
        // Approved last of all: its time ends it all the same.
        expect(approval?.state).toBe("approved");
        await until(() => fixture.approvals.expire(record.id));
      } else if (approval?.state === "denied") expect(result?.outcome).toBe("approval_denied");
      else if (approval?.state === "cancelled") {
        expect([result?.outcome, cancel]).toEqual(["cancelled", "never_started"]);
      } else {
        expect([approval?.state, result?.outcome]).toEqual(["expired", "approval_expired"]);
        expect(typeof expired).toBe("boolean");
      }
    }
    expect(seen.size).toBeGreaterThan(1);
    await expectConsistent(fixture, { [session.id]: 200 });
  });

  it("end with their time: at the decision, at the claim, and by the duty that looks for them (FB-35)", async () => {
    const session = await openSession({ grant: { dispatchesLeft: 9 } });
    const binding = (n: number) => String(n).repeat(64);
    const late = await admitAsked(fixture, session, { binding: binding(1) }, 1);
    const swept = await admitAsked(fixture, session, { binding: binding(2) }, 1);
    const queued = await admitAsked(fixture, session, { binding: binding(3) }, 2_000);
    expect((await decide(queued, "approve")).kind).toBe("approved");
    await until(async () => (await fixture.approvals.due(10)).length === 3);
    expect(await decide(late, "approve")).toEqual({ kind: "settled", state: "expired" });
    expect(await claimFor(fixture, queued.id)).toEqual({ kind: "not_queued", state: "finished" });
    for (const id of await fixture.approvals.due(10)) expect(await fixture.approvals.expire(id)).toBe(true);
    for (const each of [late, swept, queued]) {
      expect(await get(each)).toMatchObject({
        state: "finished",
        approval: { state: "expired" },
        result: { outcome: "approval_expired", effect: "none" },
      });
    }
    expect(await fixture.approvals.due(10)).toEqual([]);
    await expectConsistent(fixture, { [session.id]: 9 });
  });

  it("are followed by another once their time is over, even before anybody has swept them", async () => {
    const session = await openSession();
    const first = await admitAsked(fixture, session, {}, 1);
    await until(async () => (await fixture.approvals.due(1)).length === 1);
    const second = await admitAsked(fixture, session);
    await fixture.approvals.expire(first.id);
    const third = anAskedRecord(session);
    const answer = await fixture.commands.admit({
      record: third,
      idempotency: null,
      quotas: NO_QUOTAS,
      sessionVersion: null,
      approvalExpiryMs: 60_000,
    });
    expect(answer).toEqual({ kind: "joined", commandId: second.id });
    await expectConsistent(fixture);
  });

  it("are not given by who asked, first or by joining, unless that is allowed", async () => {
    const session = await openSession();
    const record = await admitAsked(fixture, session);
    await fixture.commands.admit({
      record: anAskedRecord(session, { principalId: "other-agent" }),
      idempotency: null,
      quotas: NO_QUOTAS,
      sessionVersion: null,
      approvalExpiryMs: 60_000,
    });
    expect(await decide(record, "approve", { principalId: "agent" })).toEqual({ kind: "own" });
    expect(await decide(record, "approve", { principalId: "other-agent" })).toEqual({ kind: "own" });
    // No one's name is found inside of another's.
    expect((await decide(record, "approve", { principalId: "gent" })).kind).toBe("approved");
    const again = await admitAsked(fixture, session);
    expect((await decide(again, "approve", { principalId: "agent", allowSelf: true })).kind).toBe("approved");
  });

  it("lift no bound on commands in flight", async () => {
    const session = await openSession();
    const one = await admitAsked(fixture, session, { binding: "1".repeat(64) });
    const two = await admitAsked(fixture, session, { binding: "2".repeat(64) });
    expect((await decide(one, "approve", { tenantConcurrent: 1 })).kind).toBe("approved");
    expect(await decide(two, "approve", { tenantConcurrent: 1 })).toMatchObject({
      kind: "quota",
      quota: "tenantConcurrent",
      limit: 1,
    });
    expect((await get(two)).approval?.state).toBe("pending");
    await expectConsistent(fixture);
  });

  it("stand again after a give-back, and are void where the check before dispatch refuses", async () => {
    const session = await openSession();
    const record = await admitAsked(fixture, session);
    await decide(record, "approve");
    const fence = freshId("fen");
    await claimFor(fixture, record.id, fence);
    expect(await fixture.commands.giveBack(record.id, fence)).toBe(true);
    expect(await get(record)).toMatchObject({ state: "queued", approval: { state: "approved" } });
    await expectConsistent(fixture);
    await fixture.commands.endUnstarted(record.id, unstartedResult(neverStarted("denied", "changed")));
    expect(await get(record)).toMatchObject({ state: "finished", approval: { state: "void" } });
    await expectConsistent(fixture);
  });

  it("are listed page by page, each waiting one once, whatever is decided meanwhile", async () => {
    const session = await openSession();
    const asked: string[] = [];
    for (const binding of ["1", "2", "3", "4", "5"]) {
      const record = await admitAsked(fixture, session, { binding: binding.repeat(64) });
      asked.push(record.id);
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof fixture.approvals.list>> = await fixture.approvals.list({
        tenant: session.tenant,
        state: "pending",
        limit: 2,
        cursor,
      });
      seen.push(...page.records.map(({ id }) => id));
      if (cursor === null) await decide(await get({ id: seen[0] } as CommandRecord), "deny");
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen.toSorted()).toEqual(asked.toSorted());
  });

  it("survive a restart of the processes, and belong to their tenant alone", async () => {
    const session = await openSession();
    const record = await admitAsked(fixture, session);
    const again = await openStoreFixture(server, { deployment: fixture.deployment });
    try {
      const list = (tenant: string) => again.approvals.list({ tenant, state: null, limit: 10, cursor: null });
      expect((await list(session.tenant)).records.map(({ id }) => id)).toEqual([record.id]);
      expect((await list("other")).records).toEqual([]);
      const strange = { ...record, tenant: "other" };
      expect(await decide(strange, "approve")).toEqual({ kind: "missing" });
      expect((await decide(record, "approve")).kind).toBe("approved");
    } finally {
      await again.close();
    }
  });
});
