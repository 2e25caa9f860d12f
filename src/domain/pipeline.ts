import { argvFault } from "./argv.js";
import { containmentCandidates, containmentVerdict, isCanonicalCwd } from "./containment/containment.js";
import type { WorkspaceFacts } from "./containment/workspace-facts.js";
import { dataFlowVerdict } from "./data-flow/data-flow.js";
import type { Label } from "./data-flow/label.js";
import { type BudgetState, budgetVerdict } from "./decision/budget-verdict.js";
import { type Decision, LAYERS, type LayerName, type LayerVerdict } from "./decision/decision.js";
import type { SessionGrant } from "./decision/grant.js";
import { grantVerdict } from "./decision/grant-verdict.js";
import { gitGuardVerdict, isGitVector } from "./git-guard/git-guard.js";
import { boundFiles } from "./policy/bound-files.js";
import type { CompiledPolicy } from "./policy/compiled-policy.js";
import { evaluatePolicy } from "./policy/evaluate-policy.js";
import { type SeenVector, seeThrough } from "./policy/see-through.js";

/** Everything a decision depends on besides the policy. */
export interface DecisionInput {
  readonly argv: readonly string[];
  /** Canonical: `.` or `a/b`. */
  readonly cwd: string;
  readonly authorization: {
    readonly scopes: ReadonlySet<string>;
    readonly principalTenant: string;
    readonly sessionTenant: string;
  };
  readonly grant: SessionGrant;
  readonly nowMs: number;
  readonly profile: {
    readonly name: string;
    /** `sha256:` and 64 hexadecimal digits. */
    readonly imageDigest: string;
    readonly networkCapable: boolean;
    readonly readOnlyRoots: readonly string[];
  };
  readonly workspaceFacts: WorkspaceFacts;
  readonly sessionLabel: Label;
  /** Labels of the request's source objects in its order; null for one that does not exist. */
  readonly sourceLabels: readonly (Label | null)[];
  readonly budget: BudgetState;
}

/** The scope that lets a principal submit commands; `admin` implies it. */
const SUBMIT_SCOPE = "commands:write";

/**
 * Decides one request. Pure and total: the same input and policy give the same decision, and anything unexpected is a deny with
 * the code `internal`. Layers speak in pipeline order; behind the first deny they are `skipped`.
 */
export function decide(input: DecisionInput, policy: CompiledPolicy): Decision {
  const layers: LayerVerdict[] = [];
  let vectors: readonly SeenVector[] = [];
  let label: Label | undefined;
  let grantedVector: number | undefined;
  let files: readonly string[] = [];
  let asks: LayerVerdict | undefined;
  let current: LayerName = "schema";

  const steps: Readonly<Record<LayerName, () => LayerVerdict>> = {
    schema: () => {
      const verdict = schemaVerdict(input);
      if (verdict.verdict !== "deny") vectors = seeThrough(input.argv, input.cwd, policy);
      return verdict;
    },
    authorization: () => authorizationVerdict(input.authorization),
    grant: () => grantVerdict(vectors, input.grant, input.nowMs, policy),
    containment: () =>
      containmentVerdict(
        { vectors, readOnlyRoots: input.profile.readOnlyRoots },
        policy,
        input.workspaceFacts,
      ),
    git_guard: () => gitGuardVerdict(vectors, input.cwd),
    policy: () => {
      files = boundFiles(vectors);
      const answer = evaluatePolicy(input.argv, vectors, policy, input.grant);
      grantedVector = answer.grantedVector;
      return answer.verdict;
    },
    data_flow: () => {
      const answer = dataFlowVerdict({ ...input, vectors }, policy);
      label = answer.label;
      return answer.verdict;
    },
    approval: () =>
      asks === undefined
        ? { layer: "approval", verdict: "pass", code: "not_needed", reason: "no layer asks for a person" }
        : {
            layer: "approval",
            verdict: "ask",
            code: "approval_needed",
            reason: "a person decides about this request",
          },
    budget: () => budgetVerdict(input.budget),
  };

  let denied = false;
  for (const layer of LAYERS) {
    current = layer;
    if (denied) {
      layers.push({ layer, verdict: "skipped", code: "skipped", reason: "an earlier layer denied" });
      continue;
    }
    let verdict: LayerVerdict;
    try {
      verdict = steps[layer]();
    } catch {
      verdict = {
        layer: current,
        verdict: "deny",
        code: "internal",
        reason: "the layer failed, so the request is denied",
      };
    }
    layers.push(verdict);
    if (verdict.verdict === "deny") denied = true;
    if (verdict.verdict === "ask") asks ??= verdict;
  }

  return {
    verdict: denied ? "deny" : asks === undefined ? "allow" : "ask",
    layers,
    policyVersion: policy.version,
    innerVectors: vectors.slice(1).map(({ argv, via, certain }) => ({ argv, via, certain })),
    gitHardened: !denied && isGitVector(input.argv),
    boundFiles: denied ? [] : files,
    ...(label === undefined ? {} : { effectiveLabel: label }),
    ...(denied || grantedVector === undefined ? {} : { grantedVector }),
  };
}

/**
 * The workspace-relative paths whose symlinks the decision will ask about, inner vectors included. Look them up with the same
 * policy before `decide`: a path-like token that was not looked up is refused. Bounded; never throws.
 */
export function pathCandidates(
  request: {
    readonly argv: readonly string[];
    readonly cwd: string;
    readonly readOnlyRoots?: readonly string[];
  },
  policy: CompiledPolicy,
): readonly string[] {
  if (argvFault(request.argv) !== null || !isCanonicalCwd(request.cwd)) return [];
  const vectors = seeThrough(request.argv, request.cwd, policy);
  return containmentCandidates({ vectors, readOnlyRoots: request.readOnlyRoots ?? [] }, policy);
}

function schemaVerdict(input: DecisionInput): LayerVerdict {
  if (!input.argv.every((token) => typeof token === "string")) {
    return {
      layer: "schema",
      verdict: "deny",
      code: "argv_invalid",
      reason: "a token of argv is not a string",
    };
  }
  const fault = argvFault(input.argv);
  if (fault !== null) {
    return {
      layer: "schema",
      verdict: "deny",
      code: "argv_invalid",
      reason: fault.message,
      ...(fault.tokenIndex === null ? {} : { tokenIndex: fault.tokenIndex }),
    };
  }
  if (!isCanonicalCwd(input.cwd)) {
    return {
      layer: "schema",
      verdict: "deny",
      code: "cwd_invalid",
      reason: "the session's directory is not canonical",
    };
  }
  return { layer: "schema", verdict: "pass", code: "ok", reason: "the request is well-formed" };
}

function authorizationVerdict(authorization: DecisionInput["authorization"]): LayerVerdict {
  const { scopes, principalTenant, sessionTenant } = authorization;
  if (principalTenant !== sessionTenant) {
    return {
      layer: "authorization",
      verdict: "deny",
      code: "other_tenant",
      reason: "the session belongs to another tenant",
    };
  }
  if (!scopes.has(SUBMIT_SCOPE) && !scopes.has("admin")) {
    return {
      layer: "authorization",
      verdict: "deny",
      code: "insufficient_scope",
      reason: `this needs the scope ${SUBMIT_SCOPE}`,
    };
  }
  return {
    layer: "authorization",
    verdict: "pass",
    code: "ok",
    reason: "the principal may submit commands to the session",
  };
}
