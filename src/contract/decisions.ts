import { z } from "zod";
import type { Decision, LayerVerdict } from "../domain/decision/decision.js";
import { LAYERS } from "../domain/decision/decision.js";
import { labelSchema, labelToWire } from "./labels.js";

const argvOut = z.array(z.string());

const layerSchema = z.strictObject({
  layer: z.enum(LAYERS),
  verdict: z.enum(["pass", "allow", "ask", "deny", "skipped"]),
  code: z.string().meta({ description: "Stable." }),
  reason: z.string(),
  rule_id: z.string().nullable(),
  token_index: z.int().nullable().meta({ description: "The refused token in `vector`, else in argv." }),
  vector: argvOut.nullable().meta({ description: "The inner vector it is about; null for argv itself." }),
});

/** The verdict of the pipeline, layer by layer. */
export const decisionSchema = z
  .strictObject({
    verdict: z.enum(["allow", "ask", "deny"]),
    layers: z.array(layerSchema),
    policy_version: z.string(),
    inner_vectors: z.array(z.strictObject({ argv: argvOut, via: z.array(z.string()), certain: z.boolean() })),
    git_hardened: z.boolean(),
    effective_label: labelSchema.nullable(),
    granted_vector: z
      .int()
      .nullable()
      .meta({ description: "Index of the grant's vector that turned ask into allow." }),
    bound_files: z
      .array(z.string())
      .meta({ description: "Workspace files whose content an approval binds." }),
  })
  .meta({ id: "Decision" });

/** A decision on the wire. */
export type DecisionWire = z.output<typeof decisionSchema>;

function layerToWire(layer: LayerVerdict): DecisionWire["layers"][number] {
  return {
    layer: layer.layer,
    verdict: layer.verdict,
    code: layer.code,
    reason: layer.reason,
    rule_id: layer.ruleId ?? null,
    token_index: layer.tokenIndex ?? null,
    vector: layer.vector === undefined ? null : [...layer.vector],
  };
}

/** A decision as callers see it. */
export function decisionToWire(decision: Decision): DecisionWire {
  return {
    verdict: decision.verdict,
    layers: decision.layers.map(layerToWire),
    policy_version: decision.policyVersion,
    inner_vectors: decision.innerVectors.map((inner) => ({
      argv: [...inner.argv],
      via: [...inner.via],
      certain: inner.certain,
    })),
    git_hardened: decision.gitHardened,
    effective_label: decision.effectiveLabel === undefined ? null : labelToWire(decision.effectiveLabel),
    granted_vector: decision.grantedVector ?? null,
    bound_files: [...decision.boundFiles],
  };
}
