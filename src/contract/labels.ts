import { z } from "zod";
import type { Label } from "../domain/data-flow/label.js";

/** A label as callers see it; its tenant is their own. */
export const labelSchema = z
  .strictObject({ sensitivity: z.string(), trust: z.string(), categories: z.array(z.string()) })
  .meta({ id: "Label" });

/** A label on the wire. */
export type LabelWire = z.output<typeof labelSchema>;

/** Maps a label. */
export function labelToWire(label: Label): LabelWire {
  return { sensitivity: label.sensitivity, trust: label.trust, categories: [...label.categories] };
}
