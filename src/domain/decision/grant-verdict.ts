import type { CompiledPolicy } from "../policy/compiled-policy.js";
import { strictName } from "../policy/executable-name.js";
import type { SeenVector } from "../policy/see-through.js";
import { matchesGlob } from "../policy/token-pattern.js";
import type { LayerVerdict } from "./decision.js";
import type { SessionGrant } from "./grant.js";

/** Judges the session's authority now: alive, with dispatches left, and for every executable the request would start. */
export function grantVerdict(
  vectors: readonly SeenVector[],
  grant: SessionGrant,
  nowMs: number,
  policy: CompiledPolicy,
): LayerVerdict {
  if (grant.revoked) return deny("grant_revoked", "the session's grant is revoked");
  if (grant.expiresAtMs !== null && !(nowMs < grant.expiresAtMs))
    return deny("grant_expired", "the session's grant is expired");
  if (grant.dispatchesLeft !== null && !(grant.dispatchesLeft > 0)) {
    return deny("grant_exhausted", "the session's grant has no dispatch left");
  }
  const { executables } = grant;
  if (executables === null)
    return { layer: "grant", verdict: "pass", code: "ok", reason: "the grant covers the command" };
  for (const [index, vector] of vectors.entries()) {
    if (!vector.certain)
      return deny("grant_executable_unknown", "the request starts executables that can't be named");
    const argv0 = vector.argv[0] ?? "";
    const name = strictName(argv0, policy.nameByPath) ?? argv0;
    if (executables.some((pattern) => matchesGlob(pattern, name))) continue;
    return {
      ...deny("grant_executable", "the grant does not cover an executable of the request"),
      ...(index === 0 ? { tokenIndex: 0 } : { vector: vector.argv }),
    };
  }
  return { layer: "grant", verdict: "pass", code: "ok", reason: "the grant covers the command" };
}

function deny(code: string, reason: string): LayerVerdict {
  return { layer: "grant", verdict: "deny", code, reason };
}
