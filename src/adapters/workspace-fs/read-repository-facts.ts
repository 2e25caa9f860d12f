import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import type { RepositoryFacts } from "../../domain/git-guard/repository-verdict.js";

const MAX_CONFIG_BYTES = 1 << 20;

/** Parts of `.git` that Git reads for the six vectors; a symbolic link in their place could lead anywhere. */
const PARTS = [
  "HEAD",
  "config",
  "config.worktree",
  "commondir",
  "index",
  "info",
  "info/attributes",
  "info/exclude",
  "objects",
  "objects/info",
  "objects/info/alternates",
  "objects/pack",
  "packed-refs",
  "refs",
  "refs/heads",
  "shallow",
];

/** Reads what `repositoryVerdict` needs from the workspace's root. Follows no symbolic link and runs nothing; never throws. */
export async function readRepositoryFacts(workspaceRoot: string): Promise<RepositoryFacts> {
  const git = join(workspaceRoot, ".git");
  const kind = await kindOf(git);
  if (kind !== "directory") {
    return {
      dotGit: kind === "missing" ? "missing" : "other",
      configs: [],
      hasAlternates: false,
      hasLinks: false,
    };
  }
  let hasLinks = false;
  for (const part of PARTS) {
    const partKind = await kindOf(join(git, part));
    if (partKind === "link" || partKind === "unreadable") hasLinks = true;
  }
  const configs: (string | null)[] = [];
  for (const name of ["config", "config.worktree"]) {
    const text = await readRegularFile(join(git, name));
    if (text !== undefined) configs.push(text);
  }
  let hasAlternates = false;
  for (const name of ["alternates", "http-alternates"]) {
    const text = await readRegularFile(join(git, "objects/info", name));
    if (text === null || (text !== undefined && text.trim() !== "")) hasAlternates = true;
  }
  return { dotGit: "directory", configs, hasAlternates, hasLinks };
}

async function kindOf(path: string): Promise<"missing" | "directory" | "link" | "file" | "unreadable"> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return "link";
    return stats.isDirectory() ? "directory" : "file";
  } catch (error) {
    return isMissing(error) ? "missing" : "unreadable";
  }
}

/** The text of a regular file; undefined when there is none, null when it can't be taken as text of sane size. */
async function readRegularFile(path: string): Promise<string | null | undefined> {
  try {
    // Non-blocking, so that a FIFO in its place can't hold the reader.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > MAX_CONFIG_BYTES) return null;
      const bytes = await file.readFile();
      return bytes.includes(0) ? null : bytes.toString("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    return isMissing(error) ? undefined : null;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
