import { z } from "zod";
import type { Label } from "../domain/data-flow/label.js";
import { labelToWire } from "./labels.js";
import { shortListSchema, textSchema } from "./wire-values.js";

const wordSchema = (description: string) => textSchema({ maxBytes: 256, description });

/** The body of `PUT /v1/sessions/{id}/objects/{object_id}`. All of it each time: a label that leaves something out would be a lower one. */
export const sourceObjectBodySchema = z.strictObject({
  sensitivity: wordSchema("One of the policy's sensitivities."),
  trust: wordSchema("One of the policy's trusts."),
  categories: shortListSchema({
    maxItems: 64,
    maxItemBytes: 256,
    description: "Categories that the policy defines; empty for none.",
  }),
});

/** A source object as callers see it. */
export const sourceObjectSchema = z
  .strictObject({
    object_id: z.string(),
    sensitivity: z.string(),
    trust: z.string(),
    categories: z.array(z.string()),
  })
  .meta({ id: "SourceObject" });

/** A source object on the wire. */
export type SourceObjectWire = z.output<typeof sourceObjectSchema>;

/** Maps a source object. */
export function sourceObjectToWire(object: {
  readonly objectId: string;
  readonly label: Label;
}): SourceObjectWire {
  return { object_id: object.objectId, ...labelToWire(object.label) };
}
