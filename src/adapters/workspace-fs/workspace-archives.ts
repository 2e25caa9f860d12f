import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveRefused } from "../../domain/archive/archive-terms.js";
import { overfills, type WorkspaceExcess, type WorkspaceUse } from "../../domain/workspace-growth.js";
import type { WorkspaceArchives } from "../../ports/workspace-archives.js";
import { WorkspaceFault } from "../../ports/workspace-store.js";
import { codeOf, openDirectory } from "./confined-directory.js";
import { measureWorkspace } from "./measure-workspace.js";
import { mergeTree } from "./merge-tree.js";
import { packTree } from "./pack-tree.js";
import { removeTree } from "./remove-tree.js";
import { stageArchive } from "./stage-archive.js";
import {
  identityOf,
  io,
  missing,
  ownDirectory,
  TRASH,
  type WorkspaceDirectory,
} from "./workspace-directory.js";

/** Where archives are unpacked before they are put in place. Not a tenant's name, so no tenant can reach it. */
const INCOMING = ".incoming";

/** Archives of the workspaces under one root. */
export interface ArchiveDirectory extends WorkspaceArchives {
  /** Deletes what processes that died left half unpacked. Takes only what is older than any transfer can be. */
  removeLeftovers(olderThanMs: number): Promise<void>;
}

/**
 * Archives in and out of workspaces. What comes in is unpacked where no command can reach it, on the same file system, and moved
 * into the workspace once the whole archive has been read and found good.
 */
export function createWorkspaceArchives(deps: {
  readonly root: string;
  readonly workspaces: Pick<WorkspaceDirectory, "locate">;
  /** Of one workspace; an archive that would make it larger than that is refused. */
  readonly limits: WorkspaceUse;
  /** Has what is unpacked in an empty directory count with the workspace: a project's directory takes nothing of another one. */
  readonly share?: (workspace: string, staging: string) => Promise<void>;
}): ArchiveDirectory {
  const incoming = join(deps.root, INCOMING);
  const trash = join(deps.root, TRASH);

  const discard = async (staging: string) => {
    const grave = join(trash, randomBytes(16).toString("hex"));
    try {
      await rename(staging, grave);
    } catch (error) {
      // Another process that cleans up.
      if (codeOf(error) === "ENOENT") return;
      throw error;
    }
    await removeTree(trash, grave);
  };

  return {
    async receive(tenant, workspaceId, chunks, limits) {
      const { path, identity, uid, gid } = await deps.workspaces.locate(tenant, workspaceId);
      await ownDirectory(incoming, 0o700);
      const staging = join(incoming, randomBytes(16).toString("hex"));
      try {
        await mkdir(staging, { mode: 0o700 });
        await deps.share?.(path, staging);
        const receipt = await stageArchive(staging, { uid, gid }, chunks, limits);
        await mergeInto(path, identity, staging, async (givenBack) => {
          // What is over the limit by itself need not be measured further; directories given back count in both.
          const bound = {
            bytes: deps.limits.bytes + givenBack.bytes,
            inodes: deps.limits.inodes + givenBack.inodes,
          };
          const added = await measureWorkspace(staging, bound);
          const before = await measureWorkspace(path, bound);
          const excess = overfills(before, added, givenBack, deps.limits);
          if (excess !== null) throw tooMuch(excess, deps.limits);
        });
        return receipt;
      } catch (error) {
        throw isSystemError(error) ? faultOf(error) : error;
      } finally {
        await discard(staging);
      }
    },

    async send(tenant, workspaceId, maxDepth) {
      const { path } = await deps.workspaces.locate(tenant, workspaceId);
      return packTree(path, maxDepth);
    },

    async removeLeftovers(olderThanMs) {
      try {
        for (const name of await readdir(incoming)) {
          const staging = join(incoming, name);
          if ((await lstat(staging)).mtimeMs < olderThanMs) await discard(staging);
        }
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw io(error);
      }
    },
  };
}

/** Throws where another directory has the workspace's path by now: what came in was meant for the one that was deleted. */
async function mergeInto(
  path: string,
  identity: string,
  staging: string,
  permit: (givenBack: WorkspaceUse) => Promise<void>,
): Promise<void> {
  const workspace = await openDirectory(path).catch((error: unknown) => {
    throw codeOf(error) === "ENOENT" ? missing() : error;
  });
  try {
    if (identityOf(await workspace.stat()) !== identity) throw missing();
    await mergeTree(staging, workspace, permit);
  } finally {
    await workspace.close();
  }
}

function tooMuch(excess: WorkspaceExcess, limits: WorkspaceUse): ArchiveRefused {
  const limit =
    excess === "workspace_bytes" ? `${limits.bytes} bytes` : `${limits.inodes} files, links and directories`;
  return new ArchiveRefused("too_large", `with it the workspace would pass limits.${excess} (${limit})`);
}

/** Whether the file system refused, and not the archive, its sender or a bug. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return (
    !(error instanceof ArchiveRefused) && error instanceof Error && "syscall" in error && "errno" in error
  );
}

function faultOf(error: NodeJS.ErrnoException): WorkspaceFault {
  if (error.code === "EXDEV")
    return new WorkspaceFault(
      "not_permitted",
      "the workspace is on another file system than the workspaces root, or in a quota of its own, so archives can't be put into it",
      error,
    );
  if (error.code === "EACCES" || error.code === "EPERM")
    return new WorkspaceFault("not_permitted", "a directory in the workspace does not let Bailiff in", error);
  return io(error);
}
