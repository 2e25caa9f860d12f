import type { z } from "zod";
import type { FieldFault } from "../domain/errors.js";
import { displayKey } from "./display-key.js";

/** More faults than this help nobody, and would let a small request ask for a large answer. */
const MAX_FAULTS = 16;

/** The part of a request that a schema judged. */
export type RequestPart = "body" | "query" | "header" | "path";

const EXPECTED: Readonly<Record<string, string>> = {
  string: "must be a string",
  number: "must be a finite number",
  int: "must be a whole number",
  boolean: "must be true or false",
  object: "must be a JSON object",
  array: "must be an array",
};

/** A zod error as faults of fields, unknown keys first. Texts name limits and keys, never values. */
export function fieldFaults(error: z.ZodError, input: unknown, part: RequestPart): FieldFault[] {
  const unknownKeys: FieldFault[] = [];
  const others: FieldFault[] = [];
  const named = new Set<string>();
  for (const issue of error.issues) {
    if (unknownKeys.length + others.length >= MAX_FAULTS) break;
    if (issue.code !== "unrecognized_keys") {
      const path = pointer(issue.path);
      // The first fault of a field says enough.
      if (!named.has(path)) others.push({ path, message: issueMessage(issue, input, part) });
      named.add(path);
      continue;
    }
    for (const key of issue.keys.slice(0, MAX_FAULTS)) {
      const shown = displayKey(key);
      const what = part === "query" ? "unknown query parameter" : "unknown key";
      unknownKeys.push({ path: pointer([...issue.path, shown]), message: `${what} ${shown}` });
    }
  }
  return [...unknownKeys, ...others].slice(0, MAX_FAULTS);
}

function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}

function issueMessage(issue: z.core.$ZodIssue, input: unknown, part: RequestPart): string {
  switch (issue.code) {
    case "invalid_type": {
      const value = valueAt(input, issue.path);
      // A request without a body has null for one.
      if (issue.path.length === 0 && (value === undefined || value === null))
        return "a JSON object is required";
      if (value === undefined) return "is required";
      if (part === "query" && Array.isArray(value)) return "must be given once";
      return EXPECTED[issue.expected] ?? "has the wrong type";
    }
    case "too_small":
      return `must ${bound(issue.origin)} ${issue.inclusive === false ? "above" : "at least"} ${issue.minimum}${unit(issue.origin)}`;
    case "too_big":
      return `must ${bound(issue.origin)} ${issue.inclusive === false ? "below" : "at most"} ${issue.maximum}${unit(issue.origin)}`;
    case "invalid_value":
      return valueAt(input, issue.path) === undefined
        ? "is required"
        : `must be one of ${issue.values.map(String).join(", ")}`;
    case "invalid_format":
    case "custom":
      // Both texts are written in this folder's schemas.
      return issue.message;
    default:
      return "is not valid";
  }
}

function bound(origin: string): string {
  return origin === "string" || origin === "array" ? "have" : "be";
}

function unit(origin: string): string {
  return origin === "string" ? " characters" : origin === "array" ? " items" : "";
}
