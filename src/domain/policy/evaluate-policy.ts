import type { LayerVerdict, Verdict } from "../decision/decision.js";
import type { GrantedVector, PolicyLevel } from "../decision/grant.js";
import type { CompiledPolicy, CompiledRule } from "./compiled-policy.js";
import { matchingRules, matchSubject } from "./match-rule.js";
import type { SeenVector } from "./see-through.js";

/** The policy layer's answer, and the grant's own vector that was used for it. */
export interface PolicyAnswer {
  readonly verdict: LayerVerdict;
  readonly grantedVector?: number;
}

interface Opinion {
  readonly verdict: Verdict | "unmatched";
  readonly code: string;
  readonly reason: string;
  readonly ruleId?: string;
  readonly vector?: readonly string[];
  /** Where the vector begins in the requested argv; absent for one that was parsed out of a token. */
  readonly offset?: number;
}

const RANK = { allow: 0, unmatched: 1, ask: 2, deny: 3 } as const;

/** Judges every seen vector by the rules, takes the strictest, then applies the session's level and granted vectors. */
export function evaluatePolicy(
  argv: readonly string[],
  vectors: readonly SeenVector[],
  policy: CompiledPolicy,
  grant: { readonly level: PolicyLevel; readonly vectors: readonly GrantedVector[] },
): PolicyAnswer {
  if (grant.level === "deny_all")
    return answer("deny", "level_deny_all", "the session's level denies every command");
  let opinion: Opinion | undefined;
  const asking: Opinion[] = [];
  for (const [index, vector] of vectors.entries()) {
    for (const candidate of opinionsOn(vector, policy)) {
      const placed: Opinion = {
        ...candidate,
        ...(index === 0 ? {} : { vector: vector.argv }),
        ...(vector.offset === undefined ? {} : { offset: vector.offset }),
      };
      if (placed.verdict === "ask" || placed.verdict === "unmatched") asking.push(placed);
      if (opinion === undefined || RANK[placed.verdict] > RANK[opinion.verdict]) opinion = placed;
    }
  }
  if (opinion === undefined) return answer("deny", "internal", "no vector was judged");
  return applyGrant(argv, opinion, asking, policy, grant);
}

function* opinionsOn(vector: SeenVector, policy: CompiledPolicy): Generator<Opinion> {
  const matched = matchingRules(policy, matchSubject(vector.argv, policy.nameByPath));
  const strictestRule = pickStrictest(matched);
  // A possible reading of an unknown shape must not loosen anything.
  if (strictestRule !== undefined && (vector.certain || strictestRule.rule.decision !== "allow")) {
    const { rule } = strictestRule;
    yield { verdict: rule.decision, code: `rule_${rule.decision}`, reason: rule.reason, ruleId: rule.id };
  } else if (vector.certain) {
    yield {
      verdict: "unmatched",
      code: "no_rule",
      reason: "no rule of the policy speaks about this command",
    };
  }
  for (const finding of vector.findings) {
    if (finding.layer === "policy")
      yield { verdict: finding.verdict, code: finding.code, reason: finding.reason };
  }
}

function pickStrictest(matched: readonly CompiledRule[]): CompiledRule | undefined {
  let best: CompiledRule | undefined;
  for (const compiled of matched) {
    if (best === undefined) best = compiled;
    else {
      const difference = RANK[compiled.rule.decision] - RANK[best.rule.decision];
      if (difference > 0 || (difference === 0 && compiled.order < best.order)) best = compiled;
    }
  }
  return best;
}

function applyGrant(
  argv: readonly string[],
  opinion: Opinion,
  asking: readonly Opinion[],
  policy: CompiledPolicy,
  grant: { readonly level: PolicyLevel; readonly vectors: readonly GrantedVector[] },
): PolicyAnswer {
  let verdict: Verdict;
  let code = opinion.code;
  if (opinion.verdict === "unmatched") {
    verdict = policy.document.default;
    code = `default_${policy.document.default}`;
    if (verdict === "ask" && grant.level === "blocklist") {
      verdict = "allow";
      code = "level_blocklist";
    }
  } else verdict = opinion.verdict;
  if (verdict === "ask" && grant.level === "allow_all") {
    verdict = "allow";
    code = "level_allow_all";
  }
  const base = answer(verdict, code, opinion.reason, opinion);
  if (verdict !== "ask") return base;
  const grantedVector = grant.vectors.findIndex(
    (vector) => coversArgv(vector, argv) && coversAsks(vector, asking),
  );
  if (grantedVector < 0) return base;
  return {
    ...answer("allow", "granted_vector", "the session's grant names this command", opinion),
    grantedVector,
  };
}

function coversArgv(granted: GrantedVector, argv: readonly string[]): boolean {
  if (granted.usesLeft !== null && granted.usesLeft <= 0) return false;
  if (granted.argv.length === 0 || argv.length < granted.argv.length) return false;
  if (granted.match === "exact" && argv.length !== granted.argv.length) return false;
  return granted.argv.every((token, index) => token === argv[index]);
}

/**
 * True when every ask is about words the granted vector names. An exact one names all of them; of what a prefix leaves open, an inner
 * command still asks by itself: `env` granted as a prefix does not grant what `env` runs.
 */
function coversAsks(granted: GrantedVector, asking: readonly Opinion[]): boolean {
  if (granted.match === "exact") return true;
  return asking.every(({ offset }) => offset !== undefined && offset < granted.argv.length);
}

function answer(verdict: Verdict, code: string, reason: string, opinion?: Opinion): PolicyAnswer {
  return {
    verdict: {
      layer: "policy",
      verdict,
      code,
      reason,
      ...(opinion?.ruleId === undefined ? {} : { ruleId: opinion.ruleId }),
      ...(opinion?.vector === undefined ? {} : { vector: opinion.vector }),
    },
  };
}
