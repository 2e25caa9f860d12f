import type { LightMyRequestResponse } from "fastify";
import { expect } from "vitest";
import { problemSchema } from "../../../src/contract/problems.js";
import { ERROR_TABLE } from "../../../src/domain/errors.js";

/** The problem of an answer, after checking that it is one in every respect. */
export function problemOf(response: LightMyRequestResponse) {
  expect(response.headers["content-type"]).toBe("application/problem+json");
  const problem = problemSchema.parse(response.json());
  expect(problem.status).toBe(response.statusCode);
  expect(problem.status).toBe(ERROR_TABLE[problem.code].status);
  expect(problem.title).toBe(ERROR_TABLE[problem.code].title);
  expect(problem.type).toBe(`urn:bailiff:problem:${problem.code}`);
  expect(problem.instance).toBe(`urn:bailiff:request:${String(response.headers["x-request-id"])}`);
  return problem;
}
