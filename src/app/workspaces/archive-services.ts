import { type ArchiveLimits, ArchiveRefused } from "../../domain/archive/archive-terms.js";
import { BailiffError } from "../../domain/errors.js";
import type { Principal, Scope } from "../../ports/authenticator.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { WorkspaceArchives } from "../../ports/workspace-archives.js";
import type { WorkspaceStore } from "../../ports/workspace-store.js";
import { notFound, requireName, requireScope } from "../access.js";
import type { BailiffServices } from "../services.js";
import type { TenantSlots } from "../tenant-slots.js";
import { usable } from "./workspace-services.js";

const CODES = {
  invalid: "invalid_request",
  too_large: "payload_too_large",
  conflict: "conflict",
} as const;

/** Use cases that move the files of a workspace as a tar stream. */
export function createArchiveServices(deps: {
  readonly archives: WorkspaceArchives;
  readonly workspaces: WorkspaceStore;
  readonly limits: ArchiveLimits;
  /** The longest that one transfer may take. */
  readonly timeoutMs: number;
  readonly slots: TenantSlots;
  readonly log: Log;
  readonly metrics: Metrics;
}): Pick<BailiffServices, "receiveArchive" | "sendArchive"> {
  const { limits, metrics } = deps;

  const enter = async (principal: Principal, scope: Scope, workspaceId: string) => {
    requireScope(principal, scope);
    requireName("/workspace_id", workspaceId);
    const found = await usable(() => deps.workspaces.get(principal.tenant, workspaceId));
    if (found === null) throw notFound("workspace");
    return deps.slots.take(principal.tenant);
  };
  const within = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(deps.timeoutMs)]);
  const ended = (
    direction: "in" | "out",
    result: "done" | "refused" | "cut_off" | "failed",
    bytes: number,
  ) => {
    metrics.count("bailiff_archive_transfers_total", { direction, result });
    metrics.count("bailiff_archive_bytes_total", { direction }, bytes);
  };

  return {
    async receiveArchive(principal, workspaceId, source, signal) {
      const release = await enter(principal, "workspaces:write", workspaceId);
      const until = within(signal);
      let bytes = 0;
      const counted = async function* () {
        for await (const chunk of source.open(until)) {
          bytes += chunk.byteLength;
          yield chunk;
        }
      };
      try {
        if (source.declaredBytes !== null && source.declaredBytes > limits.maxBytes)
          throw new ArchiveRefused(
            "too_large",
            `the archive is larger than archives.max_bytes (${limits.maxBytes} bytes)`,
          );
        const receipt = await usable(() =>
          deps.archives.receive(principal.tenant, workspaceId, counted(), limits),
        );
        ended("in", "done", bytes);
        return receipt;
      } catch (error) {
        const isRefused = error instanceof ArchiveRefused;
        ended("in", isRefused ? "refused" : until.aborted ? "cut_off" : "failed", bytes);
        if (!isRefused) throw error;
        throw new BailiffError(CODES[error.kind], error.message, {
          extensions: error.entry === null ? {} : { entry: error.entry },
        });
      } finally {
        release();
      }
    },

    async sendArchive(principal, workspaceId, signal) {
      const release = await enter(principal, "workspaces:read", workspaceId);
      const until = within(signal);
      // Also for a stream that nobody begins to read, or reads on; its reader may be gone already.
      until.addEventListener("abort", release, { once: true });
      if (until.aborted) release();
      let chunks: AsyncIterable<Uint8Array>;
      try {
        until.throwIfAborted();
        chunks = await usable(() => deps.archives.send(principal.tenant, workspaceId, limits.maxDepth));
      } catch (error) {
        release();
        throw error;
      }
      const counted = async function* () {
        let bytes = 0;
        let result: "done" | "cut_off" | "failed" = "cut_off";
        try {
          for await (const chunk of chunks) {
            until.throwIfAborted();
            bytes += chunk.byteLength;
            yield chunk;
          }
          result = "done";
        } catch (error) {
          if (!until.aborted) {
            result = "failed";
            deps.log.warn(
              { workspace_id: workspaceId, err: error },
              "an archive could not be read to its end",
            );
          }
          throw error;
        } finally {
          release();
          ended("out", result, bytes);
        }
      };
      return { chunks: counted(), until };
    },
  };
}
