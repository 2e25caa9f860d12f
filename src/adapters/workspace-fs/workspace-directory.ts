import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { lstat, mkdir, readdir, realpath, rename, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { WorkspaceFacts } from "../../domain/containment/workspace-facts.js";
import { isName } from "../../domain/ids.js";
import type { Workspace } from "../../domain/session.js";
import { WorkspaceFault, type WorkspaceStore } from "../../ports/workspace-store.js";
import { codeOf, openDirectory } from "./confined-directory.js";
import { readContents } from "./read-contents.js";
import { removeTree } from "./remove-tree.js";
import { checkWorkspacesRoot, processIdentity } from "./workspaces-root.js";

/** Where what is to be deleted goes, under the root. Not a tenant's name, so no tenant can reach it. */
export const TRASH = ".trash";

/** The sticky bit on a workspace of our own says that it was made but not yet given away. No plain mkdir leaves it. */
const UNFINISHED = 0o1700;

/** A fault of the file system, with its cause for the log. */
export const io = (cause: unknown) =>
  new WorkspaceFault("io", "the workspaces can't be read or written", cause);

/** A fault for a workspace that is not there, or not there any more. */
export const missing = () => new WorkspaceFault("not_a_directory", "the workspace does not exist");

/** Looks up where candidates lead below a directory. Never throws for what the directory contains. */
export type FactsResolver = (root: string, candidates: readonly string[]) => Promise<WorkspaceFacts>;

/** Workspaces on a file system that this process and the engine see at the same path. */
export interface WorkspaceDirectory extends WorkspaceStore {
  /** Deletes what a removal that was cut off left. For the start of a process. */
  emptyTrash(): Promise<void>;
}

async function lstatOrNull(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw io(error);
  }
}

const isWithin = (base: string, path: string) => path === base || path.startsWith(base + sep);

/** Makes a directory of our own where there is none; refuses anything else that others could write or swap. */
export async function ownDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw io(error);
  }
  const handle = await openDirectory(path).catch((error: unknown) => {
    throw codeOf(error) === "ELOOP" || codeOf(error) === "ENOTDIR"
      ? new WorkspaceFault("not_a_directory", "the tenant's place is not a directory", error)
      : io(error);
  });
  try {
    const found = await handle.stat();
    const self = processIdentity();
    if (found.uid !== self.uid || (found.mode & 0o022) !== 0) {
      throw new WorkspaceFault("not_permitted", "the tenant's place can be written by others than Bailiff");
    }
    // mkdir's mode went through the umask.
    if ((found.mode & 0o7777 & mode) !== mode) await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}

/** A usable workspace's facts, or the reason why it is none. */
function usable(found: Stats): { uid: number; gid: number } {
  if (!found.isDirectory()) {
    const what = found.isSymbolicLink() ? "a symbolic link" : "not a directory";
    throw new WorkspaceFault("not_a_directory", `the workspace is ${what}`);
  }
  if (found.uid === 0 || found.gid === 0) {
    throw new WorkspaceFault(
      "owned_by_root",
      "the workspace belongs to root's user or group; commands run as its owner and never as root, so it must be given to another user and group",
    );
  }
  return { uid: found.uid, gid: found.gid };
}

/** What tells a directory from every other one of its path. An inode's number is used again; with the time of its birth it is not. */
export const identityOf = (found: Stats) => `${found.dev}:${found.ino}:${found.birthtimeMs}`;

/**
 * Directories `<root>/<tenant>/<workspace>`. Root and tenant directories are this process's own and closed to writes
 * of others, so an agent can neither rename its workspace nor put a link in its place; only what is inside is its own.
 * Rejects where the root is unfit.
 */
export async function createWorkspaceDirectory(deps: {
  readonly root: string;
  readonly runnerUid: number;
  readonly runnerGid: number;
  readonly resolveFacts: FactsResolver;
  /** Told of a new workspace while it is empty and nobody but this process can write into it; must not reject. */
  readonly onNew?: (path: string) => Promise<void>;
}): Promise<WorkspaceDirectory> {
  const { root } = deps;
  await checkWorkspacesRoot(root, { uid: deps.runnerUid, gid: deps.runnerGid });
  const trash = join(root, TRASH);
  await ownDirectory(trash, 0o700);

  const tenantPath = (tenant: string) => {
    if (!isName(tenant)) throw missing();
    return join(root, tenant);
  };
  const pathOf = (tenant: string, workspaceId: string) => {
    if (!isName(workspaceId)) throw missing();
    return join(tenantPath(tenant), workspaceId);
  };

  // Without root's rights a workspace is ours from the first moment, and its mode is the agent's to choose.
  const givesAway = processIdentity().uid !== deps.runnerUid;
  const isUnfinished = (found: Stats) =>
    givesAway &&
    found.isDirectory() &&
    found.uid === processIdentity().uid &&
    (found.mode & 0o7777) === UNFINISHED;

  /** The workspace itself, whose tenant directory is a real one too. */
  const look = async (tenant: string, workspaceId: string): Promise<Stats | null> => {
    const above = await lstatOrNull(tenantPath(tenant));
    if (above === null) return null;
    if (!above.isDirectory())
      throw new WorkspaceFault("not_a_directory", "the tenant's place is not a directory");
    const found = await lstatOrNull(pathOf(tenant, workspaceId));
    return found !== null && isUnfinished(found) ? null : found;
  };

  /** Gives a new directory to the runner. Idempotent, so that whoever finds it unfinished may finish it. */
  const finish = async (path: string) => {
    const handle = await openDirectory(path).catch((error: unknown) => {
      throw io(error);
    });
    try {
      const found = await handle.stat();
      await deps.onNew?.(path);
      if (givesAway && found.uid === processIdentity().uid)
        await handle.chown(deps.runnerUid, deps.runnerGid);
      await handle.chmod(0o700);
    } catch (error) {
      throw io(error);
    } finally {
      await handle.close();
    }
  };

  const describe = (tenant: string, id: string, found: Stats): Workspace => ({
    tenant,
    id,
    createdAtMs: Math.floor(found.birthtimeMs),
    ...usable(found),
  });

  const locate = async (tenant: string, workspaceId: string) => {
    const found = await look(tenant, workspaceId);
    if (found === null) throw missing();
    return { path: pathOf(tenant, workspaceId), identity: identityOf(found), ...usable(found) };
  };

  return {
    async ensure(tenant, workspaceId) {
      const path = pathOf(tenant, workspaceId);
      await ownDirectory(tenantPath(tenant), 0o711);
      let created = true;
      try {
        await mkdir(path, { mode: givesAway ? UNFINISHED : 0o700 });
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw io(error);
        created = false;
      }
      const before = await lstatOrNull(path);
      if (before !== null && (created || isUnfinished(before))) await finish(path);
      const found = await lstatOrNull(path);
      if (found === null) throw missing();
      return { workspace: describe(tenant, workspaceId, found), created };
    },

    async get(tenant, workspaceId) {
      if (!isName(tenant) || !isName(workspaceId)) return null;
      const found = await look(tenant, workspaceId);
      return found === null ? null : describe(tenant, workspaceId, found);
    },

    async remove(tenant, workspaceId) {
      if (!isName(tenant) || !isName(workspaceId)) return false;
      if ((await look(tenant, workspaceId)) === null) return false;
      const grave = join(trash, randomBytes(16).toString("hex"));
      try {
        // Out of reach first, in one step: the name is free again and nobody can add to what is being deleted.
        await rename(pathOf(tenant, workspaceId), grave);
        await removeTree(trash, grave);
      } catch (error) {
        if (codeOf(error) === "ENOENT") return false;
        if (codeOf(error) === "EBUSY")
          throw new WorkspaceFault("in_use", "the workspace is a mount point", error);
        throw io(error);
      }
      return true;
    },

    locate,

    async facts(tenant, workspaceId, candidates) {
      const { path } = await locate(tenant, workspaceId);
      return deps.resolveFacts(path, candidates);
    },

    async contents(tenant, workspaceId, wanted) {
      const { path } = await locate(tenant, workspaceId);
      return readContents(path, wanted);
    },

    async isDirectory(tenant, workspaceId, path) {
      const { path: base } = await locate(tenant, workspaceId);
      try {
        const named = join(base, path);
        const real = isWithin(base, named) ? await realpath(named) : named;
        return isWithin(base, real) && (await stat(real)).isDirectory();
      } catch {
        return false;
      }
    },

    async emptyTrash() {
      try {
        for (const name of await readdir(trash)) await removeTree(trash, join(trash, name));
      } catch (error) {
        throw io(error);
      }
    },
  };
}
