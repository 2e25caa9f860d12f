import type { Label } from "../data-flow/label.js";

/** What the pipeline as a whole says about one request. */
export type Verdict = "allow" | "ask" | "deny";

/** The layers of the pipeline, in the order in which they speak. */
export const LAYERS = [
  "schema",
  "authorization",
  "grant",
  "containment",
  "git_guard",
  "policy",
  "data_flow",
  "approval",
  "budget",
] as const;

/** The name of one layer of the pipeline. */
export type LayerName = (typeof LAYERS)[number];

/** One layer's own answer; `skipped` marks the layers behind the first deny. */
export interface LayerVerdict {
  readonly layer: LayerName;
  readonly verdict: "pass" | "allow" | "ask" | "deny" | "skipped";
  /** Stable and machine-readable; never contains caller bytes. */
  readonly code: string;
  /** One sentence for a person. Says nothing about the host and suggests no way round. */
  readonly reason: string;
  /** The policy rule whose words decided. */
  readonly ruleId?: string;
  /** Index of the refused token in `vector` (the requested argv when `vector` is absent). */
  readonly tokenIndex?: number;
  /** The inner vector the answer is about, when it is not the requested argv itself. */
  readonly vector?: readonly string[];
}

/** A command seen inside the requested one: behind a wrapper, an applet or shell text. */
export interface InnerVector {
  readonly argv: readonly string[];
  /** Names of the wrappers on the way in, outermost first. */
  readonly via: readonly string[];
  /** False when the vector is only one possible reading of a shape the policy does not know. */
  readonly certain: boolean;
}

/** The whole answer: shown, stored in the evidence and compared at dispatch. */
export interface Decision {
  readonly verdict: Verdict;
  /** Every layer, in pipeline order. */
  readonly layers: readonly LayerVerdict[];
  readonly policyVersion: string;
  readonly innerVectors: readonly InnerVector[];
  /** True when dispatch must replace the argv by its hardened form. */
  readonly gitHardened: boolean;
  /** The joined label; absent only when it could not be computed. */
  readonly effectiveLabel?: Label;
  /** Index into the grant's own vectors of the one that turned an ask into an allow: its use is to be consumed. */
  readonly grantedVector?: number;
  /** Workspace-relative files whose content an approval has to bind: argv[0] and script operands. */
  readonly boundFiles: readonly string[];
}
