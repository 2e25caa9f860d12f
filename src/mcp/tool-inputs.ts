import { z } from "zod";
import { type CallBounds, submissionShape } from "../contract/commands.js";
import { cwdBodySchema } from "../contract/sessions.js";

/** What an agent says of a command: these four and nothing else. Everything else is the session's or the operator's. */
export function commandInputSchema(bounds: CallBounds) {
  const { argv, timeout_s, max_stdout_chars, max_stderr_chars } = submissionShape(bounds);
  return z.strictObject({ argv, timeout_s, max_stdout_chars, max_stderr_chars });
}

/** The input of `change_directory`. */
export const directoryInputSchema = cwdBodySchema;

/** The input of `await_command`. */
export const awaitInputSchema = z.strictObject({
  command_id: z
    .string()
    .max(64)
    .optional()
    .meta({ description: "The command to wait for; without it, the newest one of this session." }),
});

/** A zod schema as the JSON Schema (2020-12) that clients of the protocol are shown. */
export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const {
    $schema: _dialect,
    id: _id,
    ...json
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    reused: "inline",
    override({ jsonSchema }) {
      // What a double holds bounds nothing that matters, and hides the bounds that do.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return json;
}
