import { z } from "zod";
import type { ServiceLimits } from "../domain/limits.js";
import { submissionShape } from "./commands.js";
import { decisionSchema } from "./decisions.js";

/** The body of `POST /v1/policy/explain`: a submission and the session it would come from. */
export function explainBodySchema(limits: ServiceLimits) {
  return z.strictObject({ session_id: z.string(), ...submissionShape(limits) });
}

/** The answer to an explain: the decision a submit would get now. */
export const explanationSchema = z.strictObject({ decision: decisionSchema }).meta({ id: "Explanation" });

/** The policy in force. */
export const policySchema = z
  .strictObject({
    version: z.string().meta({ description: "SHA-256 of the canonical document." }),
    document: z.unknown().meta({ description: "The policy document." }),
  })
  .meta({ id: "Policy" });
