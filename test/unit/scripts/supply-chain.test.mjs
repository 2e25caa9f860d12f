import { describe, expect, test } from "vitest";
import { auditVerdict, findFaults } from "../../../scripts/supply-chain/judge.mjs";

const entry = { version: "1.0.0", integrity: "sha512-abc", license: "MIT" };
const faultsOf = (entries, manifest = {}) => findFaults(manifest, { packages: { "": {}, ...entries } });

describe("the judge of what is installed", () => {
  test("accepts a permissive licence, and one accepted alternative of several", () => {
    expect(faultsOf({ "node_modules/a": entry })).toEqual([]);
    expect(faultsOf({ "node_modules/a": { ...entry, license: "(GPL-3.0 OR MIT)" } })).toEqual([]);
  });

  test.each(["GPL-3.0-only", "MIT AND AGPL-3.0", "SEE LICENSE IN x", undefined])("refuses %s", (license) => {
    expect(faultsOf({ "node_modules/x/node_modules/a": { ...entry, license } })).toEqual([
      `a@1.0.0 has the licence ${license ?? "none named"}`,
    ]);
  });

  test("accepts for a tool what it refuses for what ships", () => {
    const mozilla = { ...entry, license: "MPL-2.0" };
    expect(faultsOf({ "node_modules/a": { ...mozilla, dev: true } })).toEqual([]);
    expect(faultsOf({ "node_modules/a": mozilla })).toHaveLength(1);
  });

  test("refuses a package without a checksum, and a version that may move", () => {
    expect(faultsOf({ "node_modules/a": { ...entry, integrity: undefined } })).toEqual([
      "a@1.0.0 has no SHA-512 checksum",
    ]);
    expect(faultsOf({}, { dependencies: { a: "^1.0.0" }, devDependencies: { b: "2.0.0" } })).toEqual([
      "a is not pinned: dependencies says ^1.0.0",
    ]);
  });
});

describe("the answer of the audit", () => {
  const answer = (vulnerabilities) => JSON.stringify({ metadata: { vulnerabilities } });

  test("fails for what is grave alone", () => {
    expect(auditVerdict(answer({ high: 1, critical: 0, total: 3 })).status).toBe("vulnerable");
    expect(auditVerdict(answer({ high: 0, critical: 0, moderate: 2, total: 2 })).status).toBe("clean");
  });

  test("is loud, and no failure, where there is none", () => {
    for (const nothing of ["", "not JSON", '{"error":{"code":"EAUDIT"}}']) {
      expect(auditVerdict(nothing)).toMatchObject({ status: "unknown" });
      expect(auditVerdict(nothing).text).toContain("NOT CHECKED");
    }
  });
});
