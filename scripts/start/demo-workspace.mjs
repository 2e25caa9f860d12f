import { appendFile, chown, cp, lchown, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { capture, must } from "../setup/command.mjs";
import { root, statePath } from "../setup/paths.mjs";

/** What a checkout holds that is no source: never copied into a workspace. */
const notSources = new Set([".git", ".bailiff", "node_modules", "dist", "coverage"]);

/** Paths that differ from the last commit in the filled workspace, as `git status --short` prints them. */
export const expectedStatus = " M fixtures/python-project/README.md\n?? notes.txt\n";

/**
 * Fills an empty workspace directory as its owner would: this checkout's history, checked out at its last commit,
 * with one file changed and one added. A checkout without history gets one commit of its files.
 */
export async function fillWorkspace(directory, owner) {
  const git = await createGit(directory);
  await git("init", "--quiet", "--initial-branch=main", "--template=");
  if (await hasHistory()) {
    // A fetch leaves no remote behind and shares no file with this checkout, whose owner must not change.
    await git("fetch", "--quiet", "--no-tags", "--update-shallow", root, "HEAD");
    await git("reset", "--quiet", "--hard", "FETCH_HEAD");
    await rm(join(directory, ".git", "FETCH_HEAD"), { force: true });
  } else {
    for (const name of await readdir(root)) {
      if (!notSources.has(name)) await cp(join(root, name), join(directory, name), { recursive: true });
    }
    await git("add", "--all");
    await git(
      "-c",
      "user.name=Bailiff demo",
      "-c",
      "user.email=demo@localhost",
      "commit",
      "--quiet",
      "-m",
      "All files",
    );
  }
  await appendFile(
    join(directory, "fixtures", "python-project", "README.md"),
    "\nA line that is not committed.\n",
  );
  await writeFile(join(directory, "notes.txt"), "A file that is not committed.\n");
  await giveTo(directory, owner);
}

/** How many lines of each file under `folder` contain `word`, for files that have any: what `rg --count` prints. */
export async function countLines(directory, folder, word) {
  const counts = new Map();
  for (const entry of await readdir(join(directory, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const count = (await readFile(path, "utf8")).split("\n").filter((line) => line.includes(word)).length;
    if (count > 0) counts.set(path.slice(directory.length + 1), count);
  }
  return counts;
}

/** True where this checkout itself, and not a folder around it, is a repository with a commit. */
async function hasHistory() {
  const env = await gitEnvironment();
  const top = await capture("git", ["-C", root, "rev-parse", "--show-toplevel"], { env });
  if (top.code !== 0 || top.stdout.trimEnd() !== (await realpath(root))) return false;
  return (await capture("git", ["-C", root, "rev-parse", "--verify", "--quiet", "HEAD"], { env })).code === 0;
}

async function createGit(directory) {
  const env = await gitEnvironment();
  return (...args) => must("git", ["-C", directory, ...args], { env, timeoutMs: 120_000 });
}

/** Git that reads no configuration of this machine, and reads this checkout whoever owns it. */
async function gitEnvironment() {
  const configuration = statePath("gitconfig");
  await writeFile(configuration, "[safe]\n\tdirectory = *\n[core]\n\tautocrlf = false\n");
  return { GIT_CONFIG_GLOBAL: configuration, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" };
}

async function giveTo(directory, { uid, gid }) {
  if (process.getuid?.() !== 0) return;
  await chown(directory, uid, gid);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath ?? entry.path, entry.name), uid, gid);
  }
}
