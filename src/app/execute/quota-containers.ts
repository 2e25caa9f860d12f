import { type ContainerRuntime, RuntimeFault } from "../../ports/container-runtime.js";
import type { Log } from "../../ports/telemetry.js";
import type { WorkspaceQuota } from "../../ports/workspace-quota.js";

/** Workspaces whose lack of a quota was logged; it is said again of one that is forgotten. */
const REMEMBERED = 1_024;

/**
 * Makes containers only for workspaces whose limits were seen to first. Where a workspace can't be held, it gets none if quotas are
 * required; otherwise a warning says once that the watch alone bounds it.
 */
export function withQuota(
  runtime: ContainerRuntime,
  deps: { readonly quota: WorkspaceQuota; readonly isRequired: boolean; readonly log: Log },
): ContainerRuntime {
  const told = new Set<string>();
  return {
    ...runtime,
    async prepare(purpose, signal) {
      const hold = await deps.quota.hold(purpose.workspacePath);
      if (!hold.held) {
        if (deps.isRequired)
          throw new RuntimeFault("mount_refused", "quota", `the workspace has no quota: ${hold.reason}`);
        if (!told.has(purpose.workspaceIdentity)) {
          if (told.size >= REMEMBERED) told.clear();
          told.add(purpose.workspaceIdentity);
          const workspace = { tenant: purpose.tenant, workspace: purpose.workspaceId, reason: hold.reason };
          deps.log.warn(workspace, "a workspace has no quota; it is watched alone");
        }
      }
      return runtime.prepare(purpose, signal);
    },
  };
}
