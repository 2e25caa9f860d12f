import { z } from "zod";
import { policyDocumentSchema } from "./policy-document.js";

/** The JSON Schema of a policy document as a person writes it, for editors. Published as `policy/policy.schema.json`. */
export function policyJsonSchema(): Record<string, unknown> {
  return {
    title: "Bailiff policy",
    ...z.toJSONSchema(policyDocumentSchema, { io: "input", target: "draft-2020-12" }),
  };
}
