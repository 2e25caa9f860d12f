import type { LayerVerdict } from "../decision/decision.js";
import type { CompiledPolicy } from "../policy/compiled-policy.js";
import { looseName } from "../policy/executable-name.js";
import { lookUpName } from "../policy/name-table.js";
import { readOptions } from "../policy/option-reader.js";
import type { SeenVector } from "../policy/see-through.js";
import { judgeExecutable, judgeToken, type LookUp, type TokenRefusal } from "./judge-token.js";
import type { WorkspaceFacts } from "./workspace-facts.js";

/** Most look-ups one request may need; a request that needs more is refused. */
export const MAX_PATH_CANDIDATES = 16_384;

const REASONS: Readonly<Record<TokenRefusal | "symlink_leaves_workspace" | "path_unresolved", string>> = {
  leaves_workspace: "the token names a path that leaves the workspace",
  home_expansion: "the token uses home expansion syntax",
  file_url: "the token is or holds a file URL",
  control_character: "the token is path-like and holds a control character",
  percent_encoding: "the token says something else when its percent-encoding is decoded",
  executable_not_listed: "argv[0] is a path that is neither in the workspace nor listed",
  symlink_leaves_workspace: "the token names a symbolic link that leads out of the workspace",
  path_unresolved: "the path could not be looked up in the workspace",
  too_many_paths: "the request names more paths than are looked up",
};

/** Most look-ups judged for one request, repeated ones included: what bounds the work when many tokens end the same way. */
const MAX_JUDGED_LOOK_UPS = 16 * MAX_PATH_CANDIDATES;

/** The part of the request that containment needs. */
export interface ContainmentInput {
  readonly vectors: readonly SeenVector[];
  readonly readOnlyRoots: readonly string[];
}

/** The paths whose symlinks decide, for an adapter to look up beforehand. No duplicates; at most `MAX_PATH_CANDIDATES`. */
export function containmentCandidates(input: ContainmentInput, policy: CompiledPolicy): readonly string[] {
  const found = new Set<string>();
  let judged = 0;
  for (const { lookUps } of judgements(input, policy)) {
    for (const { path } of lookUps) {
      if (found.size >= MAX_PATH_CANDIDATES || ++judged > MAX_JUDGED_LOOK_UPS) return [...found];
      found.add(path);
    }
  }
  return [...found];
}

/** Judges the requested vector and every inner one, token by token, in order; the first refusal is the answer. */
export function containmentVerdict(
  input: ContainmentInput,
  policy: CompiledPolicy,
  facts: WorkspaceFacts,
): LayerVerdict {
  const asked = new Set<string>();
  let judged = 0;
  for (const { vector, vectorIndex, tokenIndex, lookUps, refusal } of judgements(input, policy)) {
    const refuse = (code: keyof typeof REASONS): LayerVerdict => ({
      layer: "containment",
      verdict: "deny",
      code,
      reason: REASONS[code],
      ...(tokenIndex < 0 ? {} : { tokenIndex }),
      ...(vectorIndex === 0 ? {} : { vector: vector.argv }),
    });
    if (refusal !== undefined) return refuse(refusal);
    for (const { path, pathLike } of lookUps) {
      asked.add(path);
      if (asked.size > MAX_PATH_CANDIDATES || ++judged > MAX_JUDGED_LOOK_UPS) return refuse("too_many_paths");
      const fact = facts.resolve(path);
      if (fact === "outside") return refuse("symlink_leaves_workspace");
      if (pathLike && (fact === undefined || fact === "unknown")) return refuse("path_unresolved");
    }
  }
  return {
    layer: "containment",
    verdict: "pass",
    code: "ok",
    reason: "every path stays inside the workspace",
  };
}

/** True for a canonical session directory: `.` or `a/b`, no empty, `.` or `..` component. */
export function isCanonicalCwd(cwd: string): boolean {
  if (cwd === ".") return true;
  return (
    cwd !== "" &&
    !cwd.includes("\0") &&
    cwd.split("/").every((part) => part !== "" && part !== "." && part !== "..")
  );
}

interface PlacedJudgement {
  readonly vector: SeenVector;
  readonly vectorIndex: number;
  /** -1 for what is not a token, such as the session's directory or a redirection in shell text. */
  readonly tokenIndex: number;
  readonly refusal?: TokenRefusal;
  readonly lookUps: readonly LookUp[];
}

function* judgements(input: ContainmentInput, policy: CompiledPolicy): Generator<PlacedJudgement> {
  const [requested] = input.vectors;
  for (const cwd of requested?.cwds ?? []) {
    // The directory was a good one when it was chosen; a link may stand in its place by now.
    if (requested !== undefined && cwd !== ".") {
      yield { vector: requested, vectorIndex: 0, tokenIndex: -1, lookUps: [{ path: cwd, pathLike: true }] };
    }
  }
  for (const [vectorIndex, vector] of input.vectors.entries()) {
    const exempt = exemptTokens(vector, policy);
    const contexts = vector.cwds.map((cwd) => ({ cwd, readOnlyRoots: input.readOnlyRoots }));
    for (const [tokenIndex, token] of vector.argv.entries()) {
      if (exempt.has(tokenIndex)) continue;
      if (vector.delegated.some(([from, to]) => tokenIndex >= from && tokenIndex < to)) continue;
      for (const context of contexts) {
        const judgement =
          tokenIndex === 0
            ? judgeExecutable(token, context, (path) => policy.nameByPath.has(path))
            : judgeToken(token, context);
        yield { vector, vectorIndex, tokenIndex, ...judgement };
      }
    }
    for (const path of vector.paths) {
      for (const context of contexts)
        yield { vector, vectorIndex, tokenIndex: -1, ...judgeToken(path, context) };
    }
  }
}

/** Tokens that are program text or that the policy lists as patterns. */
function exemptTokens(vector: SeenVector, policy: CompiledPolicy): ReadonlySet<number> {
  const exempt = new Set(vector.code);
  for (const { entry, grammar } of lookUpName(policy.patternOperands, looseName(vector.argv[0] ?? ""))) {
    const read = readOptions(vector.argv, grammar);
    if (!read.understood) continue;
    for (const option of read.options) {
      if (entry.pattern_options.includes(option.name) && option.valueIndex !== undefined)
        exempt.add(option.valueIndex);
    }
    if (read.options.some((option) => entry.unless_options.includes(option.name))) continue;
    for (const position of entry.operands) {
      const index = read.operands[position - 1];
      if (index !== undefined) exempt.add(index);
    }
  }
  return exempt;
}
