/** Whether the file system itself holds a workspace to its limits. `reason` completes the sentence "it does not, because …". */
export type QuotaHold = { readonly held: true } | { readonly held: false; readonly reason: string };

/** The quota of the file system that workspaces are on. No call rejects. */
export interface WorkspaceQuota {
  /** Tries it out on a directory of its own. For the start of a process. */
  tryOut(): Promise<QuotaHold>;
  /**
   * Sees to it that a workspace has its limits. A directory that has files, and no project of its own yet, is left alone: they would
   * not count. Cheap where it was done before.
   */
  hold(path: string): Promise<QuotaHold>;
  /** Has what will be written into an empty directory count with a workspace, so that it can be moved there. */
  share(path: string, directory: string): Promise<void>;
}
