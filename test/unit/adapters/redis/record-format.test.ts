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
