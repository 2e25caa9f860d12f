import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";

/** Who this process is; a test may say another. */
export interface ProcessIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** The effective ids of this process. */
export function processIdentity(): ProcessIdentity {
  return { uid: process.geteuid?.() ?? -1, gid: process.getegid?.() ?? -1 };
}

/** Whether the runner could change what a directory's entries are. A sticky directory keeps others' entries safe. */
function runnerCanRename(
  found: { uid: number; gid: number; mode: number },
  runner: ProcessIdentity,
): boolean {
  if (found.uid === runner.uid) return true;
  if ((found.mode & 0o1000) !== 0) return false;
  return (found.gid === runner.gid && (found.mode & 0o020) !== 0) || (found.mode & 0o002) !== 0;
}

async function rootProblem(
  root: string,
  runner: ProcessIdentity,
  self: ProcessIdentity,
): Promise<string | null> {
  if (self.uid !== 0 && (self.uid !== runner.uid || self.gid !== runner.gid)) {
    return `this process is uid ${self.uid}, gid ${self.gid}: it must be root, or workspaces.runner_uid and runner_gid must be its own`;
  }
  if (!isAbsolute(root)) return "it must be an absolute path";
  const found = await lstat(root).catch(() => null);
  if (found === null)
    return "it does not exist or can't be reached: create it, owned by the user Bailiff runs as";
  if (found.isSymbolicLink()) return "it is a symbolic link: name the directory it leads to";
  if (!found.isDirectory()) return "it is not a directory";
  const real = await realpath(root);
  if (real !== root) return `a part of its path is a symbolic link: use ${real}`;
  if (found.uid !== self.uid) return `it belongs to uid ${found.uid}: it must belong to uid ${self.uid}`;
  // The root may not be open even where it is sticky: strangers could make tenants.
  if ((found.mode & 0o022) !== 0)
    return "group or others can write it: it must be writable by its owner alone";
  if (self.uid !== 0) return null;
  for (let directory = root; ; directory = dirname(directory)) {
    const part = await lstat(directory);
    // SAFETY: who can rename a directory on the way can put another in its place, and the engine would mount that.
    if (runnerCanRename(part, runner)) {
      return `the runner can write ${directory}: only root may`;
    }
    if (dirname(directory) === directory) return null;
  }
}

/**
 * Refuses a workspaces root that is not a real directory of this process's own user, or that the runner could swap.
 * Throws an Error that says what to change. For the start of a process.
 */
export async function checkWorkspacesRoot(
  root: string,
  runner: ProcessIdentity,
  self: ProcessIdentity = processIdentity(),
): Promise<void> {
  if (runner.uid === 0 || runner.gid === 0)
    throw new Error("workspaces must belong to a user other than root");
  const problem = await rootProblem(root, runner, self);
  if (problem !== null)
    throw new Error(`the workspaces root ${JSON.stringify(root)} can't be used: ${problem}`);
}
