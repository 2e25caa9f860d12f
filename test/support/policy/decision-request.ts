import { readFileSync } from "node:fs";
import { loadPolicy } from "../../../src/adapters/policy-file/load-policy.js";
import { lexicalOnlyFacts } from "../../../src/domain/containment/workspace-facts.js";
import { UNLIMITED_BUDGET } from "../../../src/domain/decision/budget-verdict.js";
import type { SessionGrant } from "../../../src/domain/decision/grant.js";
import type { DecisionInput } from "../../../src/domain/pipeline.js";
import type { CompiledPolicy } from "../../../src/domain/policy/compiled-policy.js";

const DEFAULT_POLICY_FILE = new URL("../../../policy/default.yaml", import.meta.url);

/** A grant that limits nothing, at the default level. */
export const OPEN_GRANT: SessionGrant = {
  level: "allowlist",
  revoked: false,
  expiresAtMs: null,
  dispatchesLeft: null,
  executables: null,
  vectors: [],
};

/** The text of the policy that ships. */
export function defaultPolicyText(): string {
  return readFileSync(DEFAULT_POLICY_FILE, "utf8");
}

/** The policy that ships, compiled. */
export function defaultPolicy(): CompiledPolicy {
  return policyOf(defaultPolicyText());
}

/** A policy from its text; throws with every problem when it does not load. */
export function policyOf(...texts: readonly string[]): CompiledPolicy {
  const loaded = loadPolicy(texts.map((text, index) => ({ name: `policy-${index}.yaml`, text })));
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems, null, 2));
  return loaded.policy;
}

/** A request that only the argv decides about, with overrides. */
export function decisionRequest(
  argv: readonly string[],
  overrides: Partial<DecisionInput> = {},
): DecisionInput {
  return {
    argv,
    cwd: ".",
    authorization: { scopes: new Set(["commands:write"]), principalTenant: "acme", sessionTenant: "acme" },
    grant: OPEN_GRANT,
    nowMs: 1_000,
    profile: {
      name: "default",
      imageDigest: `sha256:${"0".repeat(64)}`,
      networkCapable: false,
      readOnlyRoots: [],
    },
    workspaceFacts: lexicalOnlyFacts,
    sessionLabel: { sensitivity: "public", trust: "unknown", categories: [], tenant: "acme" },
    sourceLabels: [],
    budget: UNLIMITED_BUDGET,
    ...overrides,
  };
}
