import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceUse } from "../../domain/workspace-growth.js";
import { projectOf, quotaTerms } from "../../domain/workspace-quota.js";
import type { QuotaHold, WorkspaceQuota } from "../../ports/workspace-quota.js";
import { fileSystemOf, type MountedFileSystem } from "./mounted-file-system.js";
import {
  parseLimits,
  parseProject,
  QuotaProgramFault,
  type RunProgram,
  runQuotaProgram,
} from "./quota-programs.js";

/** A directory to try quotas on, under the root. Not a tenant's name, so no tenant can reach it. */
const TRIAL = ".quota";
/** Workspaces remembered; a forgotten one is merely looked at once more. */
const REMEMBERED = 4_096;

/** Not held, for a reason that the operator can act on. */
class NotHeld extends Error {
  override readonly name = "NotHeld";
}

/**
 * Quotas of projects, as XFS and ext4 have them, set by the programs of e2fsprogs and quota. Each workspace is a project of its own, by
 * its inode number. A project is only ever given to a directory that is empty and that no command can rename, so nothing that a
 * workspace holds is walked, and no link in it is followed.
 */
export function createProjectQuota(deps: {
  readonly root: string;
  readonly limits: WorkspaceUse;
  readonly run?: RunProgram;
  readonly readMounts?: () => Promise<string>;
}): WorkspaceQuota {
  const run = deps.run ?? runQuotaProgram;
  const readMounts = deps.readMounts ?? (() => readFile("/proc/self/mountinfo", "utf8"));
  const terms = quotaTerms(deps.limits);
  /** By inode and birth: another directory with the same path or number is not known. */
  const held = new Map<string, Promise<QuotaHold>>();

  const fileSystem = async (): Promise<MountedFileSystem> => {
    const found = fileSystemOf(deps.root, await readMounts());
    if (found === null) throw new NotHeld("the mounted file systems can't be read");
    if (!found.enforcesProjects)
      throw new NotHeld(`${found.type} at ${found.mountPoint} is mounted without prjquota`);
    return found;
  };

  const projectAt = async (path: string) => {
    const found = parseProject(await run("lsattr", ["-pd", "--", path]));
    if (found === null) throw new NotHeld("lsattr says nothing that is understood");
    return found;
  };

  const isIn = async (path: string, project: number) => {
    const now = await projectAt(path);
    return now.project === project && now.isInherited;
  };

  const give = async (path: string, project: number) => {
    await run("chattr", ["-p", String(project), "+P", "--", path]);
    if (!(await isIn(path, project))) throw new NotHeld("a project that was set is not there");
  };

  const limit = async (on: MountedFileSystem, project: number) => {
    const { kibibytes, inodes } = terms;
    const values = [project, 0, kibibytes, 0, inodes].map(String);
    await run("setquota", ["-P", ...values, on.mountPoint]);
    const set = parseLimits(await run("quota", ["-P", "-v", "-w", "-p", String(project)]), on.device);
    if (set?.kibibytes !== kibibytes || set.inodes !== inodes)
      throw new NotHeld("limits that were set are not there");
  };

  const isEmpty = async (path: string) => (await readdir(path)).length === 0;

  const setUp = async (path: string, { dev, ino }: BigIntStats): Promise<QuotaHold> => {
    try {
      const on = await fileSystem();
      if ((await lstat(deps.root, { bigint: true })).dev !== dev)
        throw new NotHeld("it is on another file system than the workspaces root");
      const project = projectOf(ino);
      if (project === null) throw new NotHeld("its inode number is larger than any project id");
      // Before the project: there is no moment in which files count and nothing bounds them.
      await limit(on, project);
      if (!(await isIn(path, project))) {
        if (!(await isEmpty(path))) throw new NotHeld("it had files before it had a project");
        await give(path, project);
        if (!(await isEmpty(path))) throw new NotHeld("files came while its project was set");
      }
      return { held: true };
    } catch (error) {
      return { held: false, reason: reasonOf(error) };
    }
  };

  const hold = async (path: string): Promise<QuotaHold> => {
    const found = await lstat(path, { bigint: true }).catch(() => null);
    if (found?.isDirectory() !== true) return { held: false, reason: "it is not there" };
    const key = `${found.dev}:${found.ino}:${found.birthtimeNs}`;
    const known = held.get(key);
    if (known !== undefined) return known;
    const asked = setUp(path, found);
    held.set(key, asked);
    for (const oldest of held.keys()) {
      if (held.size <= REMEMBERED) break;
      held.delete(oldest);
    }
    const answer = await asked;
    // A program that failed may succeed the next time.
    if (!answer.held) held.delete(key);
    return answer;
  };

  return {
    async tryOut() {
      try {
        await fileSystem();
        const trial = join(deps.root, TRIAL);
        await mkdir(trial, { recursive: true, mode: 0o700 });
        return await hold(trial);
      } catch (error) {
        return { held: false, reason: reasonOf(error) };
      }
    },
    hold,
    async share(path, directory) {
      try {
        const { project, isInherited } = await projectAt(path);
        if (isInherited) await give(directory, project);
      } catch {
        // No programs, or a file system without projects. Where there is one after all, the move says so.
      }
    },
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof NotHeld || error instanceof QuotaProgramFault) return error.message;
  const code = (error as NodeJS.ErrnoException).code;
  return code === undefined ? "of an unexpected error" : `of ${code}`;
}
