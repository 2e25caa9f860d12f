import type { FastifySchemaCompiler } from "fastify";
import type { z } from "zod";
import type { RequestPart } from "../../contract/field-faults.js";
import { fieldFaults } from "../../contract/field-faults.js";
import { BailiffError } from "../../domain/errors.js";

const PARTS: Readonly<Record<string, RequestPart>> = {
  body: "body",
  querystring: "query",
  params: "path",
  headers: "header",
};

/** Judges each part of a request by its zod schema; a refusal is an `invalid_request` that names every faulty field. */
export const zodValidation: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = PARTS[httpPart ?? "body"] ?? "body";
  return (input: unknown) => {
    const result = schema.safeParse(input);
    if (result.success) return { value: result.data };
    const faults = fieldFaults(result.error, input, part);
    const first = faults[0];
    const where =
      first === undefined || first.path === "" || first.message.startsWith("unknown ")
        ? ""
        : `${first.path} `;
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
    return {
      error: new BailiffError(
        "invalid_request",
        `${where}${first?.message ?? "the request is not valid"}${more}`,
        { faults },
      ),
    };
  };
};
