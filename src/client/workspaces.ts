import type { WorkspaceWire } from "../contract/workspaces.js";
import { NoAnswer } from "./errors.js";
import { segmentOf } from "./path-segment.js";
import type { CallOptions, OpenAnswer, Request, Transport } from "./transport.js";
import type { ArchiveReceipt } from "./wire.js";

/** What can be done with workspaces. */
export interface Workspaces {
  /** Creates one, or finds it there. */
  put(workspaceId: string, options?: CallOptions): Promise<WorkspaceWire>;
  get(workspaceId: string, options?: CallOptions): Promise<WorkspaceWire>;
  /** Removes one with everything in it. */
  delete(workspaceId: string, options?: CallOptions): Promise<void>;
  /** Puts a tar archive's files into one. An archive that is refused or cut off changes nothing; bytes may be sent again, a stream is read once. */
  putArchive(
    workspaceId: string,
    archive: Uint8Array | ReadableStream<Uint8Array>,
    options?: CallOptions,
  ): Promise<ArchiveReceipt>;
  /**
   * Its files as a tar archive, as they come: read it to its end, or cancel it. `timeoutMs` bounds the time to its first byte alone; a
   * stream that breaks ends in NoAnswer, and what was read until then is not the whole.
   */
  getArchive(workspaceId: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
}

const TAR = "application/x-tar";

const pathOf = (workspaceId: string) => `/v1/workspaces/${segmentOf(workspaceId)}`;

/** The answer's body, which lets go of its call at its end, when it breaks and when nobody wants the rest. */
function bodyOf(
  { response, close }: OpenAnswer,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const reader = response.body?.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const part = await reader?.read();
          if (part?.value !== undefined) return controller.enqueue(part.value);
          controller.close();
        } catch (error) {
          controller.error(
            signal?.aborted
              ? signal.reason
              : new NoAnswer("unreachable", "the archive was cut off", { cause: error }),
          );
        }
        close();
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}

/** The workspaces of one service. */
export function createWorkspaces(transport: Transport): Workspaces {
  return {
    async put(workspaceId, options) {
      const request = { method: "PUT", path: pathOf(workspaceId), repeatable: true };
      return (await transport.json(request, options)) as WorkspaceWire;
    },
    async get(workspaceId, options) {
      const request = { method: "GET", path: pathOf(workspaceId), repeatable: true };
      return (await transport.json(request, options)) as WorkspaceWire;
    },
    async delete(workspaceId, options) {
      await transport.json({ method: "DELETE", path: pathOf(workspaceId), repeatable: false }, options);
    },
    async putArchive(workspaceId, archive, options) {
      const request: Request = {
        method: "PUT",
        path: `${pathOf(workspaceId)}/archive`,
        content: { type: TAR, bytes: archive },
        repeatable: archive instanceof Uint8Array,
        // The answer comes behind the last byte: how long that may take is the service's and the caller's to say.
        waitS: Number.POSITIVE_INFINITY,
      };
      return (await transport.json(request, options)) as ArchiveReceipt;
    },
    async getArchive(workspaceId, options) {
      const request = { method: "GET", path: `${pathOf(workspaceId)}/archive`, repeatable: true };
      return bodyOf(await transport.open(request, options), options?.signal);
    },
  };
}
