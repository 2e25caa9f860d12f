import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { decide } from "../../../../src/domain/pipeline.js";
import { decisionRequest, defaultPolicyText, policyOf } from "../../../support/policy/decision-request.js";

const BLOCKS = [
  ...readFileSync(new URL("../../../../docs/policy.md", import.meta.url), "utf8").matchAll(
    /```yaml\n(.*?)```/gs,
  ),
].map(([, block]) => block ?? "");

it("loads every example of the documentation on top of the policy that ships", () => {
  expect(BLOCKS.length).toBeGreaterThanOrEqual(2);
  for (const block of BLOCKS) {
    expect(() =>
      policyOf(defaultPolicyText(), block.startsWith("version") ? block : `version: 1\n${block}`),
    ).not.toThrow();
  }
});

it("decides the worked example as it says: an allow never overrides an ask", () => {
  const example = BLOCKS.find((block) => block.includes("team-pytest")) ?? "";
  const merged = policyOf(defaultPolicyText(), example);
  expect(decide(decisionRequest(["pytest", "-q"]), merged).verdict).toBe("ask");
  expect(decide(decisionRequest(["env", "terraform", "-chdir=prod", "destroy"]), merged).verdict).toBe(
    "deny",
  );
  const edited = policyOf(
    defaultPolicyText().replace("id: pytest\n    decision: ask", "id: pytest\n    decision: allow"),
    example,
  );
  expect(decide(decisionRequest(["pytest", "-q"]), edited).verdict).toBe("allow");
});
