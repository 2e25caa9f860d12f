import type { ArchiveLimits, ArchiveReceipt } from "../domain/archive/archive-terms.js";

/** Workspaces as tar streams. Both reject with WorkspaceFault where the workspace is missing, a link, or root's. */
export interface WorkspaceArchives {
  /**
   * Puts what an archive holds into a workspace, as its owner's. Throws ArchiveRefused for an archive that is not taken: then the
   * workspace is as it was, except for a `conflict` that came about while the files were put in place.
   */
  receive(
    tenant: string,
    workspaceId: string,
    chunks: AsyncIterable<Uint8Array>,
    limits: ArchiveLimits,
  ): Promise<ArchiveReceipt>;
  /** Everything in a workspace, read as fast as it is asked for. Ending the iteration early closes all that is open. */
  send(tenant: string, workspaceId: string, maxDepth: number): Promise<AsyncIterable<Uint8Array>>;
}
