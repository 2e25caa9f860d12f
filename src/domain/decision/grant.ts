/** How far a session's authority goes where the policy's rules leave room; set by the operator, never by the agent. */
export const POLICY_LEVELS = ["deny_all", "allowlist", "blocklist", "allow_all"] as const;

/** One of the four policy levels. */
export type PolicyLevel = (typeof POLICY_LEVELS)[number];

/** A vector the operator granted by name: turns an ask of the policy into an allow, and nothing else. */
export interface GrantedVector {
  readonly argv: readonly string[];
  /** `exact` covers this argv only; `prefix` also every longer one that begins with it. */
  readonly match: "exact" | "prefix";
  /** Dispatches this vector still covers; null is without limit. */
  readonly usesLeft: number | null;
}

/** The finite authority of one session. */
export interface SessionGrant {
  readonly level: PolicyLevel;
  readonly revoked: boolean;
  readonly expiresAtMs: number | null;
  readonly dispatchesLeft: number | null;
  /** Patterns (`*` and `?`) of executables as argv[0] names them; null permits every one. */
  readonly executables: readonly string[] | null;
  readonly vectors: readonly GrantedVector[];
}
