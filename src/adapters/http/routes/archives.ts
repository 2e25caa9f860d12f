import { addAbortSignal, Readable } from "node:stream";
import { z } from "zod";
import { archiveReceiptSchema, archiveReceiptToWire } from "../../../contract/workspaces.js";
import { type ArchiveUploads, acceptTarOnly, boundIdleTime, TAR } from "../archive-body.js";
import type { HttpScope, RouteDeps } from "../http-deps.js";
import { jsonResponse, problemResponses } from "../problem-responses.js";

const SECURITY = [{ bearer: [] }];
const tarSchema = z.unknown().meta({ type: "string", format: "binary" });

/** `PUT|GET /v1/workspaces/{id}/archive`, for a scope of its own: its bodies are not JSON. */
export function archiveRoutes(
  scope: HttpScope,
  deps: RouteDeps & { readonly uploads: ArchiveUploads },
): void {
  const { services, principalOf, waits, uploads } = deps;
  const params = z.strictObject({ id: z.string().meta({ description: "The workspace's name." }) });
  acceptTarOnly(scope);

  scope.put(
    "/v1/workspaces/:id/archive",
    {
      schema: {
        operationId: "putArchive",
        tags: ["workspaces"],
        summary: "Put a tar archive's files into a workspace",
        description:
          "The files are put in place once the whole archive has been read and found good; one that is refused or cut off changes nothing.",
        security: SECURITY,
        params,
        consumes: [TAR],
        body: tarSchema,
        response: {
          200: jsonResponse("It is all in place.", archiveReceiptSchema),
          ...problemResponses(404, 409, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      boundIdleTime(reply);
      try {
        const receipt = await services.receiveArchive(
          principalOf(request),
          request.params.id,
          uploads.sourceOf(request),
          waits.signalFor(reply),
        );
        return await reply.code(200).send(archiveReceiptToWire(receipt));
      } catch (error) {
        // Nobody is left to be answered, and nothing is wrong here.
        if (request.raw.destroyed && !request.raw.complete)
          throw new DOMException("the sender of an archive went away", "AbortError");
        throw error;
      } finally {
        uploads.linger(request);
      }
    },
  );

  scope.get(
    "/v1/workspaces/:id/archive",
    {
      exposeHeadRoute: false,
      schema: {
        operationId: "getArchive",
        tags: ["workspaces"],
        summary: "A workspace's files as a tar archive",
        description: "An archive that ends without its end-of-archive blocks was cut off.",
        security: SECURITY,
        params,
        response: {
          200: { description: "The archive.", content: { [TAR]: { schema: tarSchema } } },
          ...problemResponses(404, 409, 429),
        },
      },
    },
    async (request, reply) => {
      const { chunks, until } = await services.sendArchive(
        principalOf(request),
        request.params.id,
        waits.signalFor(reply),
      );
      boundIdleTime(reply);
      reply.header("x-accel-buffering", "no");
      return reply
        .code(200)
        .type(TAR)
        .send(addAbortSignal(until, Readable.from(chunks, { objectMode: false })));
    },
  );
}
