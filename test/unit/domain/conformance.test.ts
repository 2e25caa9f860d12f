import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { argvFault } from "../../../src/domain/argv.js";
import { containmentVerdict } from "../../../src/domain/containment/containment.js";
import { lexicalOnlyFacts } from "../../../src/domain/containment/workspace-facts.js";
import { gitGuardVerdict } from "../../../src/domain/git-guard/git-guard.js";
import { decide } from "../../../src/domain/pipeline.js";
import { seeThrough } from "../../../src/domain/policy/see-through.js";
import { decisionRequest, defaultPolicy } from "../../support/policy/decision-request.js";

interface Case {
  readonly id: string;
  readonly layer: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly verdict: string;
  readonly note?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

const CASES = readFileSync(new URL("../../cases/conformance.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line): Case => JSON.parse(line));

const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  invalid: ["invalid"],
  pass: ["pass"],
  "pass-schema": ["pass"],
  allow: ["allow"],
  ask: ["ask"],
  deny: ["deny"],
  "ask-or-deny": ["ask", "deny"],
  "ask-or-allow": ["ask", "allow"],
};

const policy = defaultPolicy();

/** The verdict of the layer the case is about. */
function verdictOf({ layer, argv, cwd }: Case): string {
  const vectors = () => seeThrough(argv, cwd, policy);
  switch (layer) {
    case "schema":
      return argvFault(argv) === null ? "pass" : "invalid";
    case "containment":
      return containmentVerdict({ vectors: vectors(), readOnlyRoots: [] }, policy, lexicalOnlyFacts).verdict;
    case "git_guard":
      return gitGuardVerdict(vectors(), cwd).verdict;
    default:
      return decide(decisionRequest(argv, { cwd }), policy).verdict;
  }
}

describe("conformance cases", () => {
  // Cases with a `body` are about the request's other fields: the contract's tests run them.
  for (const testCase of CASES.filter(({ body }) => body === undefined)) {
    it(`${testCase.id}: ${testCase.layer} of ${JSON.stringify(testCase.argv)} in ${testCase.cwd} is ${testCase.verdict}`, () => {
      // A layer that only passes or denies has no ask: there, what asks is the whole decision.
      const wanted = ACCEPTED[testCase.verdict];
      const whole = wanted?.includes("ask") ? { ...testCase, layer: "pipeline" } : testCase;
      expect(wanted).toContain(verdictOf(whole));
    });
  }
});
