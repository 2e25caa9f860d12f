import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pairs, readRecord, writeRecord, writeResult } from "../../../../src/adapters/redis/record-format.js";
import { readSession, writeSession } from "../../../../src/adapters/redis/session-format.js";
import { APPROVAL_STATES } from "../../../../src/domain/approval/approval.js";
import { type CommandRecord, TRANSITIONS } from "../../../../src/domain/command.js";
import { LAYERS } from "../../../../src/domain/decision/decision.js";
import { WEBHOOK_EVENTS } from "../../../../src/domain/webhook/webhook.js";
import { aCompletedResult, aRecord, aSession } from "../../../support/redis-fixtures.js";

const text = fc.string({ unit: "binary" });
const atMs = fc.nat();
const aLabel = fc.record({
  sensitivity: text,
  trust: text,
  categories: fc.array(text, { maxLength: 3 }),
  tenant: text,
});

/** What a command is when it is admitted: nothing of a dispatch yet. */
const admittedRecord: fc.Arbitrary<CommandRecord> = fc
  .tuple(
    fc.record({
      id: text,
      tenant: text,
      sessionId: text,
      workspaceId: text,
      principalId: text,
      profile: text,
      imageDigest: text,
      pool: text,
      request: fc.record({
        argv: fc.array(text, { maxLength: 4 }),
        cwd: text,
        timeoutMs: atMs,
        maxStdoutChars: atMs,
        maxStderrChars: atMs,
        sourceObjects: fc.array(text, { maxLength: 3 }),
        reason: fc.option(text),
      }),
      decision: fc.record(
        {
          verdict: fc.constantFrom("allow", "ask", "deny"),
          layers: fc.array(
            fc.record(
              {
                layer: fc.constantFrom(...LAYERS),
                verdict: fc.constantFrom("pass", "allow", "ask", "deny", "skipped"),
                code: text,
                reason: text,
                ruleId: text,
                tokenIndex: fc.nat(),
                vector: fc.array(text, { maxLength: 3 }),
              },
              { requiredKeys: ["layer", "verdict", "code", "reason"] },
            ),
            { maxLength: 3 },
          ),
          policyVersion: text,
          innerVectors: fc.array(
            fc.record({ argv: fc.array(text), via: fc.array(text), certain: fc.boolean() }),
            {
              maxLength: 2,
            },
          ),
          gitHardened: fc.boolean(),
          effectiveLabel: aLabel,
          grantedVector: fc.nat(),
          boundFiles: fc.array(text, { maxLength: 2 }),
        },
        { requiredKeys: ["verdict", "layers", "policyVersion", "innerVectors", "gitHardened", "boundFiles"] },
      ),
      state: fc.constantFrom("awaiting_approval", ...Object.values(TRANSITIONS).map(({ to }) => to)),
      createdAtMs: atMs,
      queuedAtMs: fc.option(atMs),
      dispatchedAtMs: fc.constant(null),
      finishedAtMs: fc.option(atMs),
      fence: fc.constant(null),
      workerId: fc.constant(null),
      containerId: fc.constant(null),
      cancelRequested: fc.constant(false),
      result: fc.constantFrom(null, aCompletedResult(), aCompletedResult({ output: null })),
    }),
    fc.record(
      {
        approval: fc.record({
          id: text,
          state: fc.constantFrom(...APPROVAL_STATES),
          binding: text,
          files: fc.array(fc.record({ path: text, sha256: fc.option(text) }), { maxLength: 3 }),
          expiresAtMs: fc.option(atMs),
          decidedBy: fc.option(text),
          decidedAtMs: fc.option(atMs),
          note: fc.option(text),
        }),
        charge: fc.record({ wallMs: atMs, cpuMs: atMs }),
        label: aLabel,
        webhook: fc.record({ url: text, events: fc.subarray([...WEBHOOK_EVENTS]) }),
        traceparent: text,
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
  )
  .map(([always, sometimes]) => ({
    ...always,
    ...sometimes,
    approvalId: sometimes.approval?.id ?? null,
  }));

describe("the stored form of a record", () => {
  it("reads back as it was written, whatever it says, and as its scripts change it", () => {
    fc.assert(
      fc.property(admittedRecord, text, (record, word) => {
        const fields = writeRecord(record);
        expect(readRecord(fields)).toEqual(record);
        const dispatched = { fence: word, workerId: word, containerId: word };
        expect(readRecord({ ...fields, ...dispatched, dispatchedAtMs: "7", cancelRequested: "1" })).toEqual({
          ...record,
          ...dispatched,
          dispatchedAtMs: 7,
          cancelRequested: true,
        });
      }),
    );
  });

  it("keeps a result without text apart from one with empty text", () => {
    expect(writeResult(aCompletedResult({ output: null })).output).toBe("");
    expect(writeResult(aCompletedResult({ output: { stdout: "", stderr: "" } })).output).not.toBe("");
  });

  it("is nothing when there is no hash, and an error when another version wrote it or a part is missing", () => {
    expect(readRecord({})).toBeNull();
    const fields = writeRecord(aRecord(aSession()));
    expect(() => readRecord({ ...fields, formatVersion: "3" })).toThrow(/newer Bailiff/);
    const { document = "", ...rest } = fields;
    expect(() => readRecord(rest)).toThrow(/without document/);
    const { request, ...others } = JSON.parse(document);
    const damaged = [
      others,
      { ...others, request: null },
      { ...others, request: "echo" },
      { request },
      [],
      null,
    ];
    for (const each of [...damaged.map((one) => JSON.stringify(one)), document.slice(0, -1), ""])
      expect(() => readRecord({ ...fields, document: each })).toThrow();
    for (const name of ["tenant", "sessionId", "pool", "state"])
      expect(() => readRecord({ ...fields, [name]: undefined })).toThrow(`without ${name}`);
  });

  it("of one format is not read as of the other", () => {
    const fields = writeRecord(aRecord(aSession()));
    expect(() => readRecord({ ...fields, formatVersion: "1" })).toThrow(/without id/);
  });

  it("is read in its first format, where every part is a field of its own", () => {
    const written = {
      formatVersion: "1",
      id: "cmd_1",
      tenant: "acme",
      sessionId: "ses_1",
      workspaceId: "main",
      principalId: "me",
      profile: "default",
      imageDigest: "sha256:0",
      pool: "default",
      request:
        '{"argv":["echo","a"],"cwd":".","timeoutMs":1000,"maxStdoutChars":10,"maxStderrChars":10,"sourceObjects":[],"reason":null}',
      decision:
        '{"verdict":"allow","layers":[],"policyVersion":"v1","innerVectors":[],"gitHardened":false,"boundFiles":[]}',
      state: "dispatched",
      createdAtMs: "1000",
      queuedAtMs: "1001",
      dispatchedAtMs: "1002",
      fence: "fen_1",
      workerId: "wrk_1",
      containerId: "c1",
      chargedWallMs: "1000",
      chargedCpuMs: "2000",
      approvalId: "apr_1",
      approvalState: "consumed",
      approvalBinding: "b",
      approvalFiles: '[{"path":"a.sh","sha256":null}]',
      approvalExpiresAtMs: "2000",
      approvalDecidedBy: "reviewer",
      approvalDecidedAtMs: "1001",
      approvalNote: "yes",
      label: '{"sensitivity":"normal","trust":"unknown","categories":[],"tenant":"acme"}',
      webhook: '{"url":"https://receiver.invalid/","events":["finished"]}',
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      // For scripts alone.
      webhookEvents: "|finished|",
      reserved: "1",
      usageDay: "0",
      tag: "0",
      priority: "1",
    };
    const session = aSession({ id: "ses_1", workspaceId: "main" });
    expect(readRecord(written)).toEqual(
      aRecord(session, {
        id: "cmd_1",
        principalId: "me",
        request: {
          argv: ["echo", "a"],
          cwd: ".",
          timeoutMs: 1_000,
          maxStdoutChars: 10,
          maxStderrChars: 10,
          sourceObjects: [],
          reason: null,
        },
        state: "dispatched",
        createdAtMs: 1_000,
        queuedAtMs: 1_001,
        dispatchedAtMs: 1_002,
        fence: "fen_1",
        workerId: "wrk_1",
        containerId: "c1",
        approvalId: "apr_1",
        approval: {
          id: "apr_1",
          state: "consumed",
          binding: "b",
          files: [{ path: "a.sh", sha256: null }],
          expiresAtMs: 2_000,
          decidedBy: "reviewer",
          decidedAtMs: 1_001,
          note: "yes",
        },
        label: { sensitivity: "normal", trust: "unknown", categories: [], tenant: "acme" },
        webhook: { url: "https://receiver.invalid/", events: ["finished"] },
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      }),
    );
  });

  it("comes out of a flat reply of names and values", () => {
    expect(pairs(["a", "1", "b", ""])).toEqual({ a: "1", b: "" });
  });
});

describe("the stored form of a session", () => {
  it("reads back as it was written, and shows what is left instead of what was granted", () => {
    const vectors = [
      { argv: ["a"], match: "exact" as const, usesLeft: 3 },
      { argv: ["b"], match: "prefix" as const, usesLeft: null },
    ];
    const session = aSession({ grant: { dispatchesLeft: 4, expiresAtMs: 99, vectors } });
    const fields = writeSession(session);
    expect(readSession(fields)).toEqual(session);
    const now = readSession({ ...fields, dispatchesLeft: "1", "uses:0": "2", cwd: "x", revoked: "1" });
    expect(now).toMatchObject({ cwd: "x", grant: { dispatchesLeft: 1, revoked: true } });
    expect(now?.grant.vectors.map((vector) => vector.usesLeft)).toEqual([2, null]);
    expect(readSession({})).toBeNull();
  });
});
