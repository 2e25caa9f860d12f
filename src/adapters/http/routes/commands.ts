import { z } from "zod";
import { deniedError } from "../../../app/submit/denied-error.js";
import {
  commandListQuerySchema,
  commandPageSchema,
  commandSchema,
  commandSummaryToWire,
  commandToWire,
  submissionFromWire,
  submissionSchema,
  waitOnlyQuerySchema,
} from "../../../contract/commands.js";
import { isIdempotencyKey } from "../../../contract/idempotency-key.js";
import { DEFAULT_PAGE } from "../../../contract/paging.js";
import { MAX_WAIT_S, preferredWait } from "../../../contract/wait.js";
import { BailiffError } from "../../../domain/errors.js";
import { bodyHash } from "../body-hash.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];
/** A hint to callers that poll; a wait answers sooner. */
const POLL_HINT_S = "1";

const waitHeaders = z.looseObject({
  prefer: z
    .string()
    .optional()
    .meta({ description: `\`wait=N\`, whole seconds, at most ${MAX_WAIT_S}.` }),
});
const submitHeaders = waitHeaders.extend({
  "idempotency-key": z
    .string()
    .refine(isIdempotencyKey, "must be 1 to 255 visible ASCII characters")
    .optional()
    .meta({
      maxLength: 255,
      description: "The same key and body give the same command again, not another one.",
    }),
});

/** Milliseconds to wait, from `?wait=` or `Prefer: wait=`. */
function waitMsOf(query: { wait?: number | undefined }, prefer: string | undefined): number {
  if (query.wait !== undefined) return query.wait * 1000;
  const preferred = preferredWait(prefer);
  if (preferred !== "invalid") return (preferred ?? 0) * 1000;
  const message = `Prefer: wait must be a whole number from 0 to ${MAX_WAIT_S}`;
  throw new BailiffError("invalid_request", message, { faults: [{ path: "/prefer", message }] });
}

/** Submit, look, list and cancel. */
export function commandRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf, limits, waits, traceparentOf } = deps;
  const params = z.strictObject({ id: z.string().meta({ description: "The command's id." }) });

  scope.post(
    "/v1/sessions/:id/commands",
    {
      schema: {
        operationId: "submitCommand",
        tags: ["commands"],
        summary: "Submit one command",
        description:
          "The argv is data: no shell reads it. With `Prefer: wait=N` the answer comes when the command ends, or after N seconds. " +
          "A process that ends with a nonzero returncode is a success of this call.",
        security: SECURITY,
        params: z.strictObject({ id: z.string().meta({ description: "The session's id." }) }),
        querystring: waitOnlyQuerySchema,
        headers: submitHeaders,
        body: submissionSchema(limits),
        response: {
          200: jsonResponse(
            "Finished; an earlier submit with this Idempotency-Key had created it.",
            commandSchema,
          ),
          201: jsonResponse("Created, and finished within the wait.", commandSchema),
          202: jsonResponse(
            "Queued, running or awaiting approval: see `state` and `Location`.",
            commandSchema,
          ),
          ...problemResponses(404, 409, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const key = request.headers["idempotency-key"];
      const waitMs = waitMsOf(request.query, request.headers.prefer);
      const { record, duplicate } = await waits.during(reply, (signal) =>
        services.submitCommand(
          principalOf(request),
          request.params.id,
          submissionFromWire(request.body, limits),
          {
            idempotency:
              key === undefined ? null : { key, bodyHash: bodyHash(request.params.id, request.body) },
            waitMs,
            traceparent: traceparentOf(request),
            signal,
          },
        ),
      );
      if (record.result?.outcome === "denied") throw deniedError(record);
      reply.header("location", `/v1/commands/${record.id}`);
      if (duplicate) reply.header("idempotency-replayed", "true");
      if (record.state !== "finished")
        return reply.code(202).header("retry-after", POLL_HINT_S).send(commandToWire(record));
      return reply.code(duplicate ? 200 : 201).send(commandToWire(record));
    },
  );

  scope.get(
    "/v1/commands/:id",
    {
      schema: {
        operationId: "getCommand",
        tags: ["commands"],
        summary: "Look at a command, or wait for its end",
        security: SECURITY,
        params,
        querystring: waitOnlyQuerySchema,
        headers: waitHeaders,
        response: { 200: jsonResponse("The command as it is now.", commandSchema), ...problemResponses(404) },
      },
    },
    async (request, reply) => {
      const waitMs = waitMsOf(request.query, request.headers.prefer);
      const record = await waits.during(reply, (signal) =>
        services.getCommand(principalOf(request), request.params.id, waitMs, signal),
      );
      return reply.code(200).send(commandToWire(record));
    },
  );

  scope.get(
    "/v1/commands",
    {
      schema: {
        operationId: "listCommands",
        tags: ["commands"],
        summary: "List commands, newest first",
        security: SECURITY,
        querystring: commandListQuerySchema,
        response: { 200: jsonResponse("One page.", commandPageSchema), ...problemResponses() },
      },
    },
    async (request, reply) => {
      const { session, state, limit, cursor } = request.query;
      const page = await services.listCommands(principalOf(request), {
        sessionId: session ?? null,
        state: state ?? null,
        limit: limit ?? DEFAULT_PAGE,
        cursor: cursor ?? null,
      });
      return reply
        .code(200)
        .send({ commands: page.records.map(commandSummaryToWire), next_cursor: page.nextCursor });
    },
  );

  scope.post(
    "/v1/commands/:id/cancel",
    {
      schema: {
        operationId: "cancelCommand",
        tags: ["commands"],
        summary: "Cancel a command: it never starts, or it is killed",
        security: SECURITY,
        params,
        response: {
          200: jsonResponse("Finished: cancelled before it started, or ended already.", commandSchema),
          202: jsonResponse("It runs and will be killed; wait for its end.", commandSchema),
          ...problemResponses(404, 409),
        },
      },
    },
    async (request, reply) => {
      const record = await services.cancelCommand(principalOf(request), request.params.id);
      if (record.state === "finished") return reply.code(200).send(commandToWire(record));
      reply.header("location", `/v1/commands/${record.id}`).header("retry-after", POLL_HINT_S);
      return reply.code(202).send(commandToWire(record));
    },
  );
}
