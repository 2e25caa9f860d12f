import { createProjectQuota } from "../adapters/project-quota/project-quota.js";
import type { Config } from "../config/config.js";
import type { QuotaHold, WorkspaceQuota } from "../ports/workspace-quota.js";

/** What bounds workspaces in this process. `inForce` is null where the watch alone does. */
export interface OpenedQuota {
  /** Set or not, archives have to be moved into workspaces that have a project. */
  readonly files: WorkspaceQuota;
  readonly inForce: WorkspaceQuota | null;
  readonly tried: QuotaHold;
}

/** Tries the file system's quota out where the configuration does not forbid it. */
export async function openWorkspaceQuota(config: Config): Promise<OpenedQuota> {
  const files = createProjectQuota({
    root: config.workspaces.root,
    limits: { bytes: config.limits.workspaceBytes, inodes: config.limits.workspaceInodes },
  });
  const tried: QuotaHold =
    config.workspaces.quota === "off"
      ? { held: false, reason: "workspaces.quota is off" }
      : await files.tryOut();
  return { files, inForce: tried.held ? files : null, tried };
}

/** One sentence for the operator. */
export function describeQuota(tried: QuotaHold): string {
  return tried.held
    ? "the file system's quota holds each workspace to its limits, and the watch looks as well"
    : `the watch alone bounds workspaces: ${tried.reason}`;
}
