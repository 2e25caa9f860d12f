import { z } from "zod";
import { eventStreamSchema, eventToMessage, lastEventId } from "../../../contract/command-events.js";
import { BailiffError } from "../../../domain/errors.js";
import { openEventStream } from "../event-stream.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];
const EVENT_STREAM = "text/event-stream";
/** Well below the minute after which common proxies close what is silent. */
const HEARTBEAT_MS = 15_000;

/** `GET /v1/commands/{id}/events`. */
export function commandEventRoutes(scope: HttpScope, deps: RouteDeps): void {
  const { services, principalOf, waits } = deps;

  scope.get(
    "/v1/commands/:id/events",
    {
      exposeHeadRoute: false,
      schema: {
        operationId: "followCommand",
        tags: ["commands"],
        summary: "Follow a command's life as server-sent events",
        security: SECURITY,
        params: z.strictObject({ id: z.string().meta({ description: "The command's id." }) }),
        headers: z.looseObject({
          "last-event-id": z
            .string()
            .optional()
            .meta({ description: "The last id received: the stream goes on behind it." }),
        }),
        response: {
          200: {
            description: "The events so far and those to come; ends behind `finished`.",
            content: { [EVENT_STREAM]: { schema: eventStreamSchema } },
          },
          204: z.undefined().describe("Nothing can follow that event: do not reconnect."),
          ...problemResponses(404, 429),
        },
      },
    },
    async (request, reply) => {
      const afterId = lastEventId(request.headers["last-event-id"]);
      if (afterId === null) {
        const message = "must be an id of this stream";
        throw new BailiffError("invalid_request", `Last-Event-ID ${message}`, {
          faults: [{ path: "/last-event-id", message }],
        });
      }
      const signal = waits.signalFor(reply);
      const follow = await services.followCommand(principalOf(request), request.params.id, afterId, signal);
      if (follow === null) return reply.code(204).send();
      const stream = openEventStream(deps.eventHeartbeatMs ?? HEARTBEAT_MS);
      follow(
        (event) => stream.send(eventToMessage(event)),
        () => stream.end(),
      );
      // The connection has served its purpose with the stream, and must not keep a closing server waiting.
      reply.header("connection", "close").header("x-accel-buffering", "no");
      return reply.code(200).type(EVENT_STREAM).send(stream.body);
    },
  );
}
