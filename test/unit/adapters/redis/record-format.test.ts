import { describe, expect, it } from "vitest";
import { pairs, readRecord, writeRecord, writeResult } from "../../../../src/adapters/redis/record-format.js";
import { readSession, writeSession } from "../../../../src/adapters/redis/session-format.js";
import { aCompletedResult, aRecord, aSession } from "../../../support/redis-fixtures.js";

describe("the stored form of a record", () => {
  it("reads back as it was written, with any text that JSON can hold", () => {
    const session = aSession();
    const record = aRecord(session, {
      state: "finished",
      result: aCompletedResult({ output: { stdout: '\u0000\u{1F600}\uFFFD"\\', stderr: "" } }),
      approvalId: "apr_1",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    });
    expect(readRecord(writeRecord(record))).toEqual(record);
  });

  it("keeps a result without text apart from one with empty text", () => {
    expect(writeResult(aCompletedResult({ output: null })).output).toBe("");
    expect(writeResult(aCompletedResult({ output: { stdout: "", stderr: "" } })).output).not.toBe("");
  });

  it("is nothing when there is no hash, and an error when another version wrote it or a part is missing", () => {
    expect(readRecord({})).toBeNull();
    const fields = writeRecord(aRecord(aSession()));
    expect(() => readRecord({ ...fields, formatVersion: "2" })).toThrow(/newer Bailiff/);
    const { request: _, ...rest } = fields;
    expect(() => readRecord(rest)).toThrow(/without request/);
  });

  it("is read as 0.1.0 wrote it", () => {
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
      // For scripts alone.
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
