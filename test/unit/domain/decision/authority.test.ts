import { describe, expect, it } from "vitest";
import { timeoutWithinBudgetMs } from "../../../../src/domain/decision/budget-state.js";
import { UNLIMITED_BUDGET } from "../../../../src/domain/decision/budget-verdict.js";
import type { SessionGrant } from "../../../../src/domain/decision/grant.js";
import { isAtLeastAsStrict, strictest } from "../../../../src/domain/decision/strictest.js";
import { type DecisionInput, decide } from "../../../../src/domain/pipeline.js";
import { decisionRequest, defaultPolicy, OPEN_GRANT } from "../../../support/policy/decision-request.js";

const policy = defaultPolicy();
const denial = (argv: readonly string[], overrides: Partial<DecisionInput>) => {
  const layer = decide(decisionRequest(argv, overrides), policy).layers.find(
    ({ verdict }) => verdict === "deny",
  );
  return layer === undefined ? "none" : `${layer.layer}: ${layer.code}`;
};
const withGrant = (grant: Partial<SessionGrant>, argv: readonly string[] = ["ls"]) =>
  denial(argv, { grant: { ...OPEN_GRANT, ...grant } });

describe("strictest", () => {
  it("is deny over ask over allow", () => {
    expect(strictest("allow", "deny", "ask")).toBe("deny");
    expect(strictest("allow", "ask")).toBe("ask");
    expect(strictest("allow")).toBe("allow");
    expect(isAtLeastAsStrict("ask", "deny")).toBe(false);
    expect(isAtLeastAsStrict("ask", "ask")).toBe(true);
  });
});

describe("schema and authorization", () => {
  it("deny what is malformed before anything else", () => {
    expect(denial([], {})).toBe("schema: argv_invalid");
    expect(denial(["ls", "a\0b"], {})).toBe("schema: argv_invalid");
    expect(denial(["ls"], { cwd: "../x" })).toBe("schema: cwd_invalid");
    expect(denial(["ls"], { cwd: "a//b" })).toBe("schema: cwd_invalid");
    expect(denial(["ls"], { cwd: "" })).toBe("schema: cwd_invalid");
  });

  it("deny another tenant's session and a missing scope", () => {
    const authorization = {
      scopes: new Set(["commands:write"]),
      principalTenant: "acme",
      sessionTenant: "acme",
    };
    expect(denial(["ls"], { authorization: { ...authorization, sessionTenant: "other" } })).toBe(
      "authorization: other_tenant",
    );
    expect(denial(["ls"], { authorization: { ...authorization, scopes: new Set(["commands:read"]) } })).toBe(
      "authorization: insufficient_scope",
    );
    expect(denial(["ls"], { authorization: { ...authorization, scopes: new Set(["admin"]) } })).toBe("none");
  });
});

describe("the grant", () => {
  it("is void when revoked, expired or used up, at the very moment", () => {
    expect(withGrant({ revoked: true })).toBe("grant: grant_revoked");
    expect(withGrant({ expiresAtMs: 1_000 })).toBe("grant: grant_expired");
    expect(withGrant({ expiresAtMs: 1_001 })).toBe("none");
    expect(withGrant({ expiresAtMs: Number.NaN })).toBe("grant: grant_expired");
    expect(withGrant({ dispatchesLeft: 0 })).toBe("grant: grant_exhausted");
    expect(withGrant({ dispatchesLeft: 1 })).toBe("none");
  });

  it("covers executables by pattern, behind wrappers too", () => {
    expect(withGrant({ executables: ["ls", "env"] }, ["env", "ls"])).toBe("none");
    expect(withGrant({ executables: ["env"] }, ["env", "ls"])).toBe("grant: grant_executable");
    expect(withGrant({ executables: ["ls"] }, ["./ls"])).toBe("grant: grant_executable");
    expect(withGrant({ executables: ["./*"] }, ["./ls"])).toBe("none");
    expect(withGrant({ executables: ["python*"] }, ["/usr/bin/python3", "x.py"])).toBe("none");
    expect(withGrant({ executables: ["nice"] }, ["nice", "--strange", "ls"])).toBe(
      "grant: grant_executable_unknown",
    );
    expect(withGrant({ executables: [] })).toBe("grant: grant_executable");
  });
});

describe("the budget", () => {
  it.each([
    ["requestsLeft", "budget_requests"],
    ["queuedLeft", "budget_queued"],
    ["concurrentLeft", "budget_concurrent"],
    ["dispatchesLeft", "budget_dispatches"],
    ["wallMsLeft", "budget_wall"],
    ["cpuMsLeft", "budget_cpu"],
  ] as const)("denies when %s is used up", (quota, code) => {
    expect(denial(["ls"], { budget: { ...UNLIMITED_BUDGET, [quota]: 0 } })).toBe(`budget: ${code}`);
    expect(denial(["ls"], { budget: { ...UNLIMITED_BUDGET, [quota]: 1 } })).toBe("none");
    expect(denial(["ls"], { budget: { ...UNLIMITED_BUDGET, [quota]: Number.NaN } })).toBe(`budget: ${code}`);
  });

  it("lowers a command's timeout to what is left", () => {
    expect(timeoutWithinBudgetMs(30_000, 1e9, UNLIMITED_BUDGET)).toBe(30_000);
    expect(timeoutWithinBudgetMs(30_000, 1e9, { ...UNLIMITED_BUDGET, wallMsLeft: 5_000 })).toBe(5_000);
    expect(timeoutWithinBudgetMs(30_000, 1e9, { ...UNLIMITED_BUDGET, wallMsLeft: -1 })).toBe(1);
  });
});

describe("a layer that fails", () => {
  it("is a deny with the code internal", () => {
    const broken = {
      resolve: () => {
        throw new Error("broken");
      },
    };
    expect(denial(["cat", "a/b"], { workspaceFacts: broken })).toBe("containment: internal");
  });
});
