import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory as Bailiff makes workspaces: below a root, owned by a runner's uid, closed to everyone else. */
export interface OwnedWorkspace {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
}

/** Makes workspaces in a temporary root. Needs root: only root can give a directory away. */
export interface WorkspaceMaker {
  readonly root: string;
  make(uid?: number, gid?: number): Promise<OwnedWorkspace>;
  removeAll(): Promise<void>;
}

/** A new workspaces root. Symbolic links in the path of the temporary directory are not followed by the engine's host. */
export async function createWorkspaceMaker(): Promise<WorkspaceMaker> {
  const root = await mkdtemp(join(tmpdir(), "bailiff-workspaces-"));
  await chmod(root, 0o755);
  return {
    root,
    async make(uid = 10_001, gid = uid) {
      const path = await mkdtemp(join(root, "w-"));
      await chown(path, uid, gid);
      await chmod(path, 0o700);
      return { path, uid, gid };
    },
    async removeAll() {
      await rm(root, { recursive: true, force: true });
    },
  };
}
