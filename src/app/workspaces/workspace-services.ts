import { BailiffError } from "../../domain/errors.js";
import type { Clock } from "../../ports/clock.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { WorkspaceStore } from "../../ports/workspace-store.js";
import { WorkspaceFault } from "../../ports/workspace-store.js";
import { notFound, requireName, requireScope } from "../access.js";
import type { BailiffServices } from "../services.js";

/** Use cases on workspaces. */
export function createWorkspaceServices(deps: {
  readonly workspaces: WorkspaceStore;
  readonly sessions: SessionStore;
  readonly clock: Clock;
}): Pick<BailiffServices, "putWorkspace" | "getWorkspace" | "deleteWorkspace"> {
  return {
    async putWorkspace(principal, workspaceId) {
      requireScope(principal, "workspaces:write");
      requireName("/workspace_id", workspaceId);
      return usable(() => deps.workspaces.ensure(principal.tenant, workspaceId, deps.clock.nowMs()));
    },
    async getWorkspace(principal, workspaceId) {
      requireScope(principal, "workspaces:read");
      requireName("/workspace_id", workspaceId);
      const workspace = await usable(() => deps.workspaces.get(principal.tenant, workspaceId));
      if (workspace === null) throw notFound("workspace");
      return workspace;
    },
    async deleteWorkspace(principal, workspaceId) {
      requireScope(principal, "workspaces:write");
      requireName("/workspace_id", workspaceId);
      const open = await deps.sessions.ofWorkspace(principal.tenant, workspaceId);
      if (open.length > 0) {
        throw new BailiffError(
          "workspace_in_use",
          `${open.length} session(s) use this workspace; delete them first`,
        );
      }
      if (!(await usable(() => deps.workspaces.remove(principal.tenant, workspaceId))))
        throw notFound("workspace");
    },
  };
}

/** Turns a workspace fault into the caller's problem; everything else passes through. */
export async function usable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WorkspaceFault)) throw error;
    throw new BailiffError(error.code === "io" ? "internal" : "workspace_unusable", error.message, {
      cause: error,
    });
  }
}
