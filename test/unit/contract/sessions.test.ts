import { describe, expect, it } from "vitest";
import { fieldFaults } from "../../../src/contract/field-faults.js";
import {
  budgetFromWire,
  cwdBodySchema,
  grantFromWire,
  sessionBodySchema,
} from "../../../src/contract/sessions.js";
import { UNBOUNDED_SESSION } from "../../../src/domain/decision/session-budget.js";
import { OPEN_GRANT } from "../../support/http/in-memory-services.js";

function faults(body: unknown): string[] {
  const result = sessionBodySchema.safeParse(body);
  return result.success
    ? []
    : fieldFaults(result.error, body, "body").map((fault) => `${fault.path} ${fault.message}`);
}

const withGrant = (grant: unknown) => ({ workspace_id: "w1", grant });

describe("sessionBodySchema", () => {
  it("takes a whole grant", () => {
    expect(
      faults(
        withGrant({
          level: "blocklist",
          dispatches: 0,
          expires_at: "2026-01-01T00:00:00+02:00",
          executables: ["git", "npm*"],
          vectors: [{ argv: ["npm", "test"], match: "exact", uses: 1 }],
        }),
      ),
    ).toEqual([]);
  });

  it.each([
    ["an unknown member of the grant", { revoked: false }, "/grant/revoked unknown key revoked"],
    [
      "a level of no policy",
      { level: "root" },
      "/grant/level must be one of deny_all, allowlist, blocklist, allow_all",
    ],
    ["negative dispatches", { dispatches: -1 }, "/grant/dispatches must be at least 0"],
    ["a fraction of a dispatch", { dispatches: 1.5 }, "/grant/dispatches must be a whole number"],
    [
      "a time without an offset",
      { expires_at: "2026-01-01T00:00:00" },
      "/grant/expires_at must be an ISO 8601 time with an offset",
    ],
    [
      "a day that does not exist",
      { expires_at: "2026-02-30T00:00:00Z" },
      "/grant/expires_at must be an ISO 8601 time with an offset",
    ],
    ["no executables", { executables: [] }, "/grant/executables must have at least 1 items"],
    ["a vector without a match", { vectors: [{ argv: ["ls"] }] }, "/grant/vectors/0/match is required"],
    [
      "a vector with a NUL (FB-25)",
      { vectors: [{ argv: ["l\0s"], match: "exact" }] },
      "/grant/vectors/0/argv/0 must not contain a NUL character",
    ],
    [
      "too many vectors",
      { vectors: Array(65).fill({}) },
      "/grant/vectors must have at most 64 items, got 65",
    ],
    ["vectors that are no list", { vectors: {} }, "/grant/vectors must be an array"],
  ])("refuses %s", (_name, grant, wanted) => {
    expect(faults(withGrant(grant))).toEqual([wanted]);
  });

  it.each(["", "../x", "UPPER", "a/b", "a".repeat(64), "-a"])(
    "refuses the workspace name %j",
    (workspace_id) => {
      expect(faults({ workspace_id })).toHaveLength(1);
    },
  );
});

describe("grantFromWire", () => {
  it("takes what is left out from the service's default", () => {
    const defaults = { ...OPEN_GRANT, dispatchesLeft: 7, expiresAtMs: 99, executables: ["git"] };
    expect(grantFromWire({}, defaults)).toEqual(defaults);
    expect(grantFromWire({ dispatches: 3, level: "deny_all" }, defaults)).toEqual({
      ...defaults,
      dispatchesLeft: 3,
      level: "deny_all",
    });
    expect(grantFromWire({ expires_at: "1970-01-01T00:00:01Z" }, defaults).expiresAtMs).toBe(1000);
  });

  it("never takes over a revocation and gives a vector no end of its own unless told", () => {
    const grant = grantFromWire(
      { vectors: [{ argv: ["ls"], match: "prefix" }] },
      { ...OPEN_GRANT, revoked: true },
    );
    expect(grant.revoked).toBe(false);
    expect(grant.vectors).toEqual([{ argv: ["ls"], match: "prefix", usesLeft: null }]);
  });
});

describe("cwdBodySchema", () => {
  it("refuses a NUL, a lone surrogate, nothing and too much (FB-25)", () => {
    for (const path of ["a\0b", "\ud800", "", "é".repeat(2049), 5, null])
      expect(cwdBodySchema.safeParse({ path }).success).toBe(false);
    for (const path of ["a", ".", "/workspace/x", "é".repeat(2048)])
      expect(cwdBodySchema.safeParse({ path }).success).toBe(true);
  });
});

describe("a budget", () => {
  it("is taken in seconds and kept in whole milliseconds; what is left out is no bound", () => {
    expect(budgetFromWire({})).toEqual(UNBOUNDED_SESSION);
    expect(budgetFromWire({ wall_seconds: 1.2345, cpu_seconds: -0, concurrent: 2 })).toEqual({
      ...UNBOUNDED_SESSION,
      wallMsLeft: 1235,
      cpuMsLeft: 0,
      concurrent: 2,
    });
  });

  it.each([
    [{ dispatches: 1 }, "/budget/dispatches unknown key dispatches"],
    [{ wall_seconds: -1 }, "/budget/wall_seconds must be at least 0"],
    [{ cpu_seconds: "1" }, "/budget/cpu_seconds must be a finite number"],
    [{ concurrent: 0 }, "/budget/concurrent must be at least 1"],
    [{ queued: 1.5 }, "/budget/queued must be a whole number"],
    [{ max_memory_bytes: 1024 }, "/budget/max_memory_bytes must be at least 33554432"],
  ])("refuses %j", (budget, wanted) => {
    expect(faults({ workspace_id: "w1", budget })).toEqual([wanted]);
  });
});
