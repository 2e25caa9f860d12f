import { z } from "zod";
import type { ErrorCode } from "../domain/errors.js";
import { ERROR_TABLE } from "../domain/errors.js";
import { decisionSchema } from "./decisions.js";

const CODES = Object.keys(ERROR_TABLE) as [ErrorCode, ...ErrorCode[]];

/** RFC 9457 problem details. Further members may be added. */
export const problemSchema = z
  .looseObject({
    type: z.string().meta({ description: "`urn:bailiff:problem:` and the code." }),
    title: z.string(),
    status: z.int(),
    code: z.enum(CODES).meta({ description: "Stable; the texts are not." }),
    detail: z.string(),
    instance: z
      .string()
      .meta({ description: "`urn:bailiff:request:` and the request id, which the log carries too." }),
    errors: z
      .array(z.strictObject({ path: z.string().meta({ description: "JSON pointer" }), message: z.string() }))
      .optional(),
    entry: z.string().optional().meta({ description: "Of an archive; everything in it is escaped." }),
    command_id: z.string().optional().meta({ description: "Of a denied command." }),
    decision: decisionSchema.optional().meta({ description: "Of a denied command." }),
  })
  .meta({ id: "Problem" });

/** A problem on the wire. */
export type ProblemWire = z.output<typeof problemSchema>;
