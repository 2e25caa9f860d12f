import type { Stats } from "node:fs";
import { type FileHandle, lstat, readdir, rename } from "node:fs/promises";
import { ArchiveRefused } from "../../domain/archive/archive-terms.js";
import { type BytePath, shownPath } from "../../domain/archive/byte-path.js";
import type { WorkspaceUse } from "../../domain/workspace-growth.js";
import { codeOf, inside, openDirectory, openInside } from "./confined-directory.js";
import { BLOCK_BYTES } from "./measure-workspace.js";

/**
 * Moves everything of a staged tree into a workspace, each file in one step, and follows no link there. What is in the way of a
 * directory, or a directory in the way of anything else, is an ArchiveRefused `conflict`: found before anything is moved, unless
 * it comes about meanwhile. `permit` is told what the merge will give back before anything is moved, and may throw.
 */
export async function mergeTree(
  staging: string,
  workspace: FileHandle,
  permit: (givenBack: WorkspaceUse) => Promise<void>,
): Promise<void> {
  const staged = await openDirectory(staging);
  const givenBack = { bytes: 0, inodes: 0 };
  const giveBack = (stats: Stats) => {
    givenBack.bytes += stats.blocks * BLOCK_BYTES;
    givenBack.inodes += 1;
  };
  try {
    await eachEntry(staged, workspace, "", requireFit(giveBack), giveBack);
    await permit(givenBack);
    await eachEntry(staged, workspace, "", move);
  } finally {
    await staged.close();
  }
}

type Step = (staged: FileHandle, target: FileHandle, name: BytePath, path: BytePath) => Promise<void>;

/** Takes a step for every staged entry but directories that are in both trees: of those, for what is in them. */
async function eachEntry(
  staged: FileHandle,
  target: FileHandle,
  above: BytePath,
  step: Step,
  onShared: (stats: Stats) => void = () => undefined,
): Promise<void> {
  // As many names as one archive may have.
  const names = await readdir(inside(staged, ""), { encoding: "buffer" });
  for (const bytes of names) {
    const name = bytes.toString("latin1");
    const path = above === "" ? name : `${above}/${name}`;
    const from = await openInside(staged, name);
    if (typeof from === "string") {
      await step(staged, target, name, path);
      continue;
    }
    try {
      const to = await openInside(target, name);
      if (to === "other") throw conflict(path, "the workspace has a file or a link where it has a directory");
      if (to === "missing") await step(staged, target, name, path);
      else {
        try {
          onShared(await from.stat());
          await eachEntry(from, to, path, step, onShared);
        } finally {
          await to.close();
        }
      }
    } finally {
      await from.close();
    }
  }
}

const conflict = (path: BytePath, message: string) =>
  new ArchiveRefused("conflict", message, shownPath(path));

const inTheWay = (path: BytePath) => conflict(path, "the workspace has a directory in its place");

/** A file that has other names stays where it is replaced, and gives nothing back. */
const requireFit =
  (giveBack: (stats: Stats) => void): Step =>
  async (_staged, target, name, path) => {
    const found = await lstat(inside(target, name)).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    });
    if (found?.isDirectory() === true) throw inTheWay(path);
    if (found?.nlink === 1) giveBack(found);
  };

// SAFETY: a rename replaces what has the last name, whatever it is, and never follows it; both directories are held open.
const move: Step = async (staged, target, name, path) => {
  try {
    await rename(inside(staged, name), inside(target, name));
  } catch (error) {
    if (["EISDIR", "ENOTDIR", "ENOTEMPTY", "EEXIST"].includes(codeOf(error) ?? "")) throw inTheWay(path);
    throw error;
  }
};
