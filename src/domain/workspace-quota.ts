import type { WorkspaceUse } from "./workspace-growth.js";

/** Whether the file system's own quota is to hold workspaces: where it can, always or not at all, or never. */
export const WORKSPACE_QUOTA_MODES = ["auto", "required", "off"] as const;
export type WorkspaceQuotaMode = (typeof WORKSPACE_QUOTA_MODES)[number];

/** Project ids have 32 bits; 0 is everything without a project, and the last one is no id. */
const LAST_PROJECT = 0xffff_fffen;

/**
 * The project of the directory with this inode number, or null where no project id is as large. Of all directories of a file
 * system at one time each has another number, so no two workspaces ever share a limit; and what is in a deleted workspace is gone before
 * its number can be given again.
 */
export function projectOf(inode: bigint): number | null {
  return inode >= 1n && inode <= LAST_PROJECT ? Number(inode) : null;
}

/** A project's limits in the units of quota programs; the workspace's own directory counts as one more inode. */
export function quotaTerms(limits: WorkspaceUse): { readonly kibibytes: number; readonly inodes: number } {
  return { kibibytes: Math.floor(limits.bytes / 1024), inodes: limits.inodes + 1 };
}
