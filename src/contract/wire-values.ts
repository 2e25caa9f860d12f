import { z } from "zod";
import { argvFault, MAX_ARGV_BYTES, MAX_TOKEN_BYTES, MAX_TOKENS, utf8Length } from "../domain/argv.js";

/** Milliseconds since the epoch as ISO 8601 in UTC. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** As isoTime; null stays null. */
export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

/** A point in time on the wire. */
export const timeSchema = z
  .string()
  .meta({ format: "date-time", description: "ISO 8601, UTC, milliseconds" });

/**
 * An argv within the bounds of the pipeline's schema layer. One check over the whole: a schema per token would report
 * a fault per token, and 2 MiB of wrong tokens must not become a million objects.
 */
export function argvSchema() {
  return z
    .custom<readonly string[]>()
    .superRefine((value: unknown, context) => {
      const fault = stringListFault(value, MAX_TOKENS) ?? argvFault(value as readonly string[]);
      if (fault === null) return;
      context.addIssue({
        code: "custom",
        path: fault.tokenIndex === null ? [] : [fault.tokenIndex],
        message: fault.message,
      });
    })
    .meta({
      type: "array",
      items: { type: "string", maxLength: MAX_TOKEN_BYTES },
      minItems: 1,
      maxItems: MAX_TOKENS,
      description:
        `The program and its arguments, as literal data: no shell reads them. At most ${MAX_TOKENS} tokens, each at most ` +
        `${MAX_TOKEN_BYTES} UTF-8 bytes, ${MAX_ARGV_BYTES} in all; no NUL, no lone surrogate, argv[0] not blank.`,
      examples: [["git", "status", "--short"]],
    });
}

/** A list of short strings, checked as one for the same reason as an argv. `faultOf` judges one item. */
export function shortListSchema(bounds: {
  readonly maxItems: number;
  readonly minItems?: number;
  readonly maxItemBytes: number;
  readonly faultOf?: (item: string) => string | null;
  readonly description: string;
}) {
  const itemFault = (item: string): string | null => {
    if (item === "" || item.includes("\0") || !item.isWellFormed())
      return "must be non-empty text without NUL or lone surrogates";
    if (utf8Length(item) > bounds.maxItemBytes) return `must be at most ${bounds.maxItemBytes} UTF-8 bytes`;
    return bounds.faultOf?.(item) ?? null;
  };
  return z
    .custom<readonly string[]>()
    .superRefine((value: unknown, context) => {
      const fault = stringListFault(value, bounds.maxItems);
      if (fault !== null) {
        context.addIssue({
          code: "custom",
          path: fault.tokenIndex === null ? [] : [fault.tokenIndex],
          message: fault.message,
        });
        return;
      }
      const items = value as readonly string[];
      if (items.length < (bounds.minItems ?? 0)) {
        context.addIssue({ code: "custom", message: `must have at least ${bounds.minItems} items` });
      }
      for (const [index, item] of items.entries()) {
        const message = itemFault(item);
        if (message === null) continue;
        context.addIssue({ code: "custom", path: [index], message });
        return;
      }
    })
    .meta({
      type: "array",
      items: { type: "string", minLength: 1, maxLength: bounds.maxItemBytes },
      minItems: bounds.minItems ?? 0,
      maxItems: bounds.maxItems,
      description: bounds.description,
    });
}

function stringListFault(
  value: unknown,
  maxItems: number,
): { tokenIndex: number | null; message: string } | null {
  if (value === undefined) return { tokenIndex: null, message: "is required" };
  if (!Array.isArray(value)) return { tokenIndex: null, message: "must be an array of strings" };
  if (value.length > maxItems)
    return { tokenIndex: null, message: `must have at most ${maxItems} items, got ${value.length}` };
  const wrong = value.findIndex((item) => typeof item !== "string");
  return wrong === -1 ? null : { tokenIndex: wrong, message: "must be a string" };
}

/** Text of bounded length without NUL and lone surrogates. */
export function textSchema(bounds: { readonly maxBytes: number; readonly description: string }) {
  return z
    .string()
    .min(1)
    .superRefine((text, context) => {
      if (text.includes("\0"))
        context.addIssue({ code: "custom", message: "must not contain a NUL character" });
      else if (!text.isWellFormed())
        context.addIssue({ code: "custom", message: "must not contain a lone surrogate" });
      else if (utf8Length(text) > bounds.maxBytes) {
        context.addIssue({ code: "custom", message: `must be at most ${bounds.maxBytes} UTF-8 bytes` });
      }
    })
    .meta({ maxLength: bounds.maxBytes, description: bounds.description });
}

/** A whole number in a query string, in plain decimal digits. */
export function queryIntegerSchema(bounds: {
  readonly min: number;
  readonly max: number;
  readonly description: string;
}) {
  return z
    .custom<string>()
    .superRefine((value: unknown, context) => {
      const message = queryIntegerFault(value, bounds.min, bounds.max);
      if (message !== null) context.addIssue({ code: "custom", message });
    })
    .meta({ type: "integer", minimum: bounds.min, maximum: bounds.max, description: bounds.description })
    .transform(Number);
}

function queryIntegerFault(value: unknown, min: number, max: number): string | null {
  if (Array.isArray(value)) return "must be given once";
  const fits =
    typeof value === "string" &&
    /^(?:0|[1-9][0-9]{0,8})$/.test(value) &&
    Number(value) >= min &&
    Number(value) <= max;
  return fits ? null : `must be a whole number from ${min} to ${max}`;
}

/** A list of objects, judged one by one only once there are not too many of them. */
export function objectListSchema<T extends z.ZodType>(item: T, maxItems: number, description: string) {
  const { $schema: _dialect, ...items } = z.toJSONSchema(item, { io: "input", unrepresentable: "any" });
  return z
    .custom<unknown[]>()
    .superRefine((value: unknown, context) => {
      if (!Array.isArray(value)) context.addIssue({ code: "custom", message: "must be an array" });
      else if (value.length > maxItems) {
        context.addIssue({
          code: "custom",
          message: `must have at most ${maxItems} items, got ${value.length}`,
        });
      }
    })
    .meta({ type: "array", items, maxItems, description })
    .pipe(z.array(item));
}
