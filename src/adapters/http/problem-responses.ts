import { problemSchema } from "../../contract/problems.js";
import { PROBLEM_TYPE } from "./problem.js";

const DESCRIPTIONS = {
  400: "The request is not valid.",
  401: "No valid credential.",
  403: "Denied, or a scope is missing.",
  404: "Not found, or another tenant's.",
  409: "The state does not allow this.",
  413: "The body is too large.",
  415: "The body is of a media type that is not taken.",
  429: "A quota or rate is used up; see Retry-After.",
  500: "The service failed.",
  503: "The service can't take this now; see Retry-After.",
} as const;

type ProblemStatus = keyof typeof DESCRIPTIONS;

type ProblemResponses<S extends ProblemStatus> = Record<
  S,
  { description: string; content: { [PROBLEM_TYPE]: { schema: typeof problemSchema } } }
>;

/** The problem answers of one route for its response schemas: those named, and those every authenticated route can give. */
export function problemResponses<S extends ProblemStatus>(
  ...statuses: readonly S[]
): ProblemResponses<S | 400 | 401 | 403 | 500 | 503> {
  const all = [...new Set<ProblemStatus>([400, 401, 403, 500, 503, ...statuses])].sort();
  const rows = all.map((status) => [
    status,
    { description: DESCRIPTIONS[status], content: { [PROBLEM_TYPE]: { schema: problemSchema } } },
  ]);
  return Object.fromEntries(rows);
}

/** A JSON answer for a route's response schemas. */
export function jsonResponse<T>(
  description: string,
  schema: T,
): { description: string; content: { "application/json": { schema: T } } } {
  return { description, content: { "application/json": { schema } } };
}
