import { appendFile, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEvidenceDirectory } from "../../../src/adapters/evidence-file/evidence-directory.js";
import { createMirrorEvidence } from "../../../src/app/evidence/mirror-evidence.js";
import { createEvidenceWriter, type EvidenceSchedule } from "../../../src/app/evidence/write-evidence.js";
import type { SignedCheckpoint } from "../../../src/domain/evidence/checkpoint.js";
import { writeEvidenceLine } from "../../../src/domain/evidence/evidence-line.js";
import type { Session } from "../../../src/domain/session.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import type { EvidenceMirror } from "../../../src/ports/evidence-mirror.js";
import type { EvidenceStore } from "../../../src/ports/evidence-store.js";
import { FULL_TERMS, signingKeys, verifyLines } from "../../support/evidence.js";
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
  silentLog,
  silentMetrics,
} from "../../support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const { privateKey, publicKey } = signingKeys();
const ALWAYS: EvidenceSchedule = { checkpointRecords: 1, checkpointMs: 1, ttlMs: 3_600_000 };

let server: RedisServer;
let fixture: StoreFixture;
let directory: string;
let removeDirectory: () => Promise<void>;
const mirrors: EvidenceMirror[] = [];
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  fixture = await openStoreFixture(server);
  ({ path: directory, remove: removeDirectory } = await createScratchDirectory());
});
afterEach(async () => {
  for (const mirror of mirrors.splice(0)) await mirror.close();
  await fixture.close();
  await removeDirectory();
});

/** A writer of its own, as another process would have one. */
const writerOf = (
  given: {
    evidence?: EvidenceStore;
    schedule?: Partial<EvidenceSchedule>;
    leads?: boolean;
    nowMs?: () => number;
  } = {},
) => {
  const evidence = given.evidence ?? fixture.evidence;
  const mirror = createEvidenceDirectory(directory, { maxFileBytes: 1 << 30 });
  mirrors.push(mirror);
  const parts = { evidence, log: silentLog, metrics: silentMetrics };
  return createEvidenceWriter({
    ...parts,
    leases: given.leads ? { lead: async () => true } : fixture.leases,
    mirror: createMirrorEvidence({ ...parts, mirror }),
    terms: FULL_TERMS,
    privateKey,
    schedule: { ...ALWAYS, ...given.schedule },
    holder: freshId("wrk"),
    clock: { nowMs: given.nowMs ?? Date.now },
  });
};

const openSession = async (tenant = "acme") => {
  const session = aSession({ tenant });
  await fixture.sessions.create(session);
  return session;
};

const runToEnd = async (given?: Session) => {
  const session = given ?? (await openSession());
  const { record } = await admitQueued(fixture, session);
  const claim = await claimFor(fixture, record.id);
  if (claim.kind !== "claimed") throw new Error(claim.kind);
  await fixture.commands.finish(record.id, claim.fence, aCompletedResult());
  return record;
};

/** Every record and checkpoint of the store, as lines. */
const linesOfStore = async (tenant = "acme"): Promise<string[]> => {
  const { cut } = await fixture.evidence.head(tenant);
  const records = await fixture.evidence.records(tenant, 1, 100_000);
  const seals = await fixture.evidence.seals(tenant, 1, 1_000_000);
  const checkpoints: SignedCheckpoint[] = [...(cut === null ? [] : [cut]), ...seals];
  return [...checkpoints.map(writeEvidenceLine), ...records.map(writeEvidenceLine)];
};
const linesOfFile = async (tenant = "acme"): Promise<string[]> =>
  (await readFile(join(directory, `${tenant}.jsonl`), "utf8")).split("\n").slice(0, -1);

const kindsOf = async (commandId: string, tenant = "acme") =>
  (await fixture.evidence.ofCommand(tenant, commandId)).map(({ record }) => record.kind);

/** Store and file hold exactly these records, once each, and both verify. */
const expectWhole = async (records: number, tenant = "acme") => {
  for (const lines of [await linesOfStore(tenant), await linesOfFile(tenant)]) {
    expect(verifyLines(lines, publicKey, tenant)).toMatchObject({
      findings: [],
      records,
      sealedSeq: records,
    });
  }
};

describe("what is owed", () => {
  test("every way a command ends leaves its records", async () => {
    const session = await openSession();
    const finished = await runToEnd(session);
    const denied = aRecord(session, { state: "finished" });
    await fixture.commands.admit({
      record: denied,
      idempotency: null,
      quotas: NO_QUOTAS,
      sessionVersion: null,
    });
    const { record: cancelled } = await admitQueued(fixture, session);
    await fixture.commands.requestCancel(cancelled.id, CANCELLED);
    const { record: killed } = await admitQueued(fixture, session);
    const claim = await claimFor(fixture, killed.id);
    if (claim.kind !== "claimed") throw new Error(claim.kind);
    await fixture.commands.requestCancel(killed.id, CANCELLED);
    await fixture.commands.requestCancel(killed.id, CANCELLED);
    await fixture.commands.finish(killed.id, claim.fence, { ...CANCELLED, effect: "unknown" });
    const { record: lost } = await admitQueued(fixture, session);
    const orphan = await claimFor(fixture, lost.id);
    if (orphan.kind !== "claimed") throw new Error(orphan.kind);
    await fixture.leases.leave(fixture.workerId);
    expect(await fixture.commands.endUnstarted(lost.id, CANCELLED)).toBe(false);
    expect(await fixture.leases.declareLost(lost.id, orphan.fence, { ...CANCELLED, outcome: "lost" })).toBe(
      true,
    );

    await writerOf().round();
    expect(await kindsOf(finished.id)).toEqual(["admitted", "finished"]);
    expect(await kindsOf(denied.id)).toEqual(["denied"]);
    expect(await kindsOf(cancelled.id)).toEqual(["admitted", "finished"]);
    expect(await kindsOf(killed.id)).toEqual(["admitted", "cancel_requested", "finished"]);
    expect(await kindsOf(lost.id)).toEqual(["admitted", "finished"]);
    const [, end] = await fixture.evidence.ofCommand("acme", finished.id);
    expect(end?.record).toMatchObject({
      worker_id: fixture.workerId,
      container_id: expect.stringContaining("container-of-"),
      request: { argv: finished.request.argv },
      result: { outcome: "completed", returncode: 0, stdout: { sha256: "aa" } },
    });
    await expectWhole(10);
  });

  test("is written though the command's own record is gone", async () => {
    const record = await runToEnd();
    await fixture.redis.del(`{bailiff:${fixture.deployment}}:cmd:${record.id}`);
    await writerOf().round();
    expect(await kindsOf(record.id)).toEqual(["admitted", "finished"]);
  });

  test("stays apart by tenant", async () => {
    await runToEnd();
    await runToEnd(await openSession("globex"));
    await writerOf().round();
    await expectWhole(2);
    await expectWhole(2, "globex");
  });
});

describe("a writer that dies", () => {
  /** The store, dying at a call: before it is made, or after it was done and before its answer came. */
  const dyingAt = (method: "append" | "seal" | "owed" | "head" | "records", when: "before" | "after") => {
    let isDead = false;
    const dying = (async (...given: never[]) => {
      if (isDead || when === "before") {
        isDead = true;
        throw new StoreUnavailable("died");
      }
      isDead = true;
      await (fixture.evidence[method] as (...all: never[]) => Promise<unknown>)(...given);
      throw new StoreUnavailable("died");
    }) as never;
    return { ...fixture.evidence, [method]: dying };
  };

  for (const method of ["owed", "head", "append", "seal", "records"] as const) {
    for (const when of ["before", "after"] as const) {
      test(`${when} \`${method}\` loses nothing and doubles nothing`, async () => {
        for (let i = 0; i < 3; i += 1) await runToEnd();
        await writerOf({ evidence: dyingAt(method, when), leads: true })
          .round()
          .catch(() => undefined);
        await runToEnd();
        await writerOf({ leads: true }).round();
        await expectWhole(8);
      });
    }
  }

  test("in the middle of a line leaves a file that goes on, from Redis", async () => {
    for (let i = 0; i < 3; i += 1) await runToEnd();
    await writerOf({ leads: true }).round();
    const path = join(directory, "acme.jsonl");
    const whole = await readFile(path);
    for (const cutBytes of [1, 50, 700, whole.length - 10, whole.length]) {
      await writeFile(path, whole);
      await truncate(path, whole.length - cutBytes);
      await writerOf({ leads: true }).round();
      await expectWhole(6);
    }
    await appendFile(path, '{"hash":"torn');
    await runToEnd();
    await writerOf({ leads: true }).round();
    await expectWhole(8);
  });
});

describe("writers side by side", () => {
  test("that all believe they lead append each record once", async () => {
    const ends = Array.from({ length: 40 }, () => runToEnd());
    // Only one of them has the file: files are the leader's.
    const writers = [writerOf({ leads: true }), ...Array.from({ length: 3 }, () => chainOnly())];
    let isOver = false;
    const rounds = Promise.all(
      writers.map(async (writer) => {
        while (!isOver) await writer.round();
      }),
    );
    await Promise.all(ends).finally(() => {
      isOver = true;
      return rounds;
    });
    await writers[0]?.round();
    await expectWhole(80);
  });

  /** A writer in whose directory nothing is. */
  function chainOnly() {
    const parts = { evidence: fixture.evidence, log: silentLog, metrics: silentMetrics };
    return createEvidenceWriter({
      ...parts,
      leases: { lead: async () => true },
      mirror: async () => true,
      terms: FULL_TERMS,
      privateKey,
      schedule: ALWAYS,
      holder: freshId("wrk"),
      clock: { nowMs: Date.now },
    });
  }

  test("have one leader, and another one when it is gone", async () => {
    const [first, second] = [writerOf(), writerOf()];
    await runToEnd();
    await first.round();
    await runToEnd();
    await second.round();
    await second.nudge();
    expect((await fixture.evidence.records("acme", 1, 10)).length).toBe(2);
    await fixture.redis.del(`{bailiff:${fixture.deployment}}:lead:evidence`);
    await second.round();
    await expectWhole(4);
  });
});

describe("checkpoints", () => {
  test("come after so many records or so much time, and at the end", async () => {
    let nowMs = Date.now();
    const writer = writerOf({ schedule: { checkpointRecords: 4, checkpointMs: 60_000 }, nowMs: () => nowMs });
    const sealed = async () => (await fixture.evidence.head("acme")).sealedSeq;
    await runToEnd();
    await writer.round();
    expect(await sealed()).toBe(2);
    await runToEnd();
    await writer.round();
    expect(await sealed()).toBe(2);
    await runToEnd();
    await writer.round();
    expect(await sealed()).toBe(6);
    await runToEnd();
    nowMs += 61_000;
    await writer.round();
    expect(await sealed()).toBe(8);
    await runToEnd();
    await writer.stop();
    expect(await sealed()).toBe(10);
  });
});

describe("retention", () => {
  test("cuts a beginning off, signed: what stays verifies, and the file keeps all", async () => {
    for (let i = 0; i < 3; i += 1) await runToEnd();
    await writerOf({ leads: true }).round();
    const gone = (await fixture.evidence.records("acme", 1, 1))[0]?.record.command_id ?? "";
    const later = Date.now() + 3_600_001;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await writerOf({ leads: true, nowMs: () => later }).round();
    expect(await fixture.evidence.records("acme", 1, 10)).toEqual([]);
    expect(await kindsOf(gone)).toEqual([]);
    await runToEnd();
    await writerOf({ leads: true }).round();
    const verified = verifyLines(await linesOfStore(), publicKey);
    expect(verified).toMatchObject({ findings: [], firstSeq: 7, lastSeq: 8, records: 2 });
    expect(verifyLines(await linesOfFile(), publicKey)).toMatchObject({
      findings: [],
      records: 8,
      sealedSeq: 8,
    });
    expect(await fixture.evidence.head("acme")).toMatchObject({
      cut: { checkpoint: { seq: 6, kind: "cut" } },
    });
  });

  test("forgets for a tenant that is never at rest too: a seal that is not due yet holds up nothing", async () => {
    for (let i = 0; i < 3; i += 1) await runToEnd();
    await writerOf({ leads: true }).round();
    await runToEnd();
    const later = Date.now() + 3_600_001;
    const schedule = { checkpointRecords: 1_000, checkpointMs: 10 * 3_600_000 };
    await writerOf({ leads: true, nowMs: () => later, schedule }).round();
    const left = await fixture.evidence.records("acme", 1, 10);
    expect(left.map(({ record }) => record.seq)).toEqual([7, 8]);
    expect(verifyLines(await linesOfStore(), publicKey)).toMatchObject({ findings: [], records: 2 });
  });
});

describe("a Redis that lost its newest records", () => {
  test("does not make a file of two minds: the old one is kept aside", async () => {
    await runToEnd();
    await writerOf({ leads: true }).round();
    const before = await linesOfFile();
    const keys = await fixture.redis.keys(`{bailiff:${fixture.deployment}}:evidence:acme:*`);
    await fixture.redis.del(...keys);
    await runToEnd();
    await writerOf({ leads: true }).round();
    await expectWhole(2);
    expect(await linesOfFile()).not.toEqual(before);
  });
});
