import type { LayerVerdict } from "../decision/decision.js";
import type { SeenVector } from "../policy/see-through.js";
import { isGit } from "./recognise-git.js";

/** The only vectors in which raw Git runs, and only at the workspace root. */
export const GIT_VECTORS: readonly (readonly string[])[] = [
  ["git", "status"],
  ["git", "status", "--short"],
  ["git", "branch", "--show-current"],
  ["git", "rev-parse", "--show-toplevel"],
  ["git", "diff"],
  ["git", "diff", "--stat"],
];

/** True when the argv is exactly one of the six vectors. */
export function isGitVector(argv: readonly string[]): boolean {
  return GIT_VECTORS.some(
    (vector) => vector.length === argv.length && vector.every((token, index) => token === argv[index]),
  );
}

/** Judges the requested vector (the first) and every inner one. No grant, approval or policy changes its deny. */
export function gitGuardVerdict(vectors: readonly SeenVector[], cwd: string): LayerVerdict {
  const [requested, ...inner] = vectors;
  for (const vector of inner) {
    if (!isGit(vector.argv[0] ?? "")) continue;
    return { ...refusal("wrapped_git", "raw Git behind another command is refused"), vector: vector.argv };
  }
  for (const vector of vectors) {
    const finding = vector.findings.find((candidate) => candidate.layer === "git_guard");
    if (finding === undefined) continue;
    const verdict = refusal(finding.code, finding.reason);
    return vector === requested ? verdict : { ...verdict, vector: vector.argv };
  }
  if (requested !== undefined && isGit(requested.argv[0] ?? "")) {
    if (!isGitVector(requested.argv)) {
      return { ...refusal("git_vector", "this use of raw Git is refused"), tokenIndex: 0 };
    }
    if (cwd !== ".") {
      return {
        ...refusal("git_not_at_root", "raw Git is refused outside the workspace root"),
        tokenIndex: 0,
      };
    }
  }
  return {
    layer: "git_guard",
    verdict: "pass",
    code: "ok",
    reason: "raw Git is not started, or as one of its six vectors",
  };
}

function refusal(code: string, reason: string): LayerVerdict {
  return { layer: "git_guard", verdict: "deny", code, reason };
}
