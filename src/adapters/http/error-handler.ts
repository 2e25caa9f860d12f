import type { FastifyReply, FastifyRequest } from "fastify";
import type { ErrorCode } from "../../domain/errors.js";
import { BailiffError } from "../../domain/errors.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log } from "../../ports/telemetry.js";
import { PROBLEM_TYPE, problemAnswer } from "./problem.js";

/** Answers every error as a problem. `closing` tells whether an aborted wait was ended by the shutdown. */
export function createErrorHandler(log: Log, closing: () => boolean) {
  return async (error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const known = asBailiffError(error, closing());
    const clientLeft = reply.raw.destroyed && isAbort(error);
    if (known.code === "internal" && !clientLeft) {
      log.error(
        { request_id: request.id, method: request.method, route: request.routeOptions.url, err: error },
        "request failed",
      );
    }
    return sendProblem(reply, known, request.id);
  };
}

/** Sends the problem of an error. */
export function sendProblem(reply: FastifyReply, error: BailiffError, requestId: string): FastifyReply {
  const answer = problemAnswer(error, requestId);
  // Serialised here: a problem is never filtered by the response schema of the route that failed.
  return reply
    .code(answer.status)
    .headers(answer.headers)
    .type(PROBLEM_TYPE)
    .serializer((payload: unknown) => String(payload))
    .send(JSON.stringify(answer.body));
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Any thrown value as an error of the table; what is not recognised is internal. */
export function asBailiffError(error: unknown, closing: boolean): BailiffError {
  if (error instanceof BailiffError) return error;
  if (error instanceof StoreUnavailable)
    return new BailiffError("store_unavailable", "the store is unavailable", { cause: error });
  if (isAbort(error) && closing) return new BailiffError("shutting_down", "shutting down", { cause: error });
  const refusal = fastifyRefusal(error);
  return refusal === null
    ? new BailiffError("internal", "internal error", { cause: error })
    : new BailiffError(refusal.code, refusal.message);
}

/** What fastify itself refuses before a route is asked. Its own words can hold parts of the request. */
function fastifyRefusal(error: unknown): { code: ErrorCode; message: string } | null {
  if (!(error instanceof Error) || !("code" in error) || !("statusCode" in error)) return null;
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return { code: "payload_too_large", message: "the request body is larger than the service takes" };
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return { code: "unsupported_media_type", message: "a body is taken as application/json in UTF-8 only" };
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return {
        code: "invalid_request",
        message: "the body does not have the length that Content-Length says",
      };
    case "FST_ERR_BAD_URL":
      return { code: "invalid_request", message: "the request target is not a valid path" };
    case "FST_ERR_MAX_PARAM_LENGTH":
      return { code: "not_found", message: "there is nothing at this path" };
  }
  const ofFastify = typeof error.code === "string" && error.code.startsWith("FST_ERR_");
  const ofCaller = typeof error.statusCode === "number" && error.statusCode >= 400 && error.statusCode < 500;
  return ofFastify && ofCaller ? { code: "invalid_request", message: "the request can't be read" } : null;
}
