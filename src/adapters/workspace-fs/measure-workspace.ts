import type { BigIntStats } from "node:fs";
import { type FileHandle, lstat, opendir } from "node:fs/promises";
import type { WorkspaceUse } from "../../domain/workspace-growth.js";
import { codeOf, inside, openDirectory } from "./confined-directory.js";

/** Entries looked at together: waiting for each by itself would take ten times as long. */
const AT_ONCE = 64;
/** The unit of `blocks` in what lstat says, whatever the file system. */
export const BLOCK_BYTES = 512;
/** Each level holds a descriptor. A deeper tree is made to be hidden in, and counts as too many entries. */
const MAX_DEPTH = 200;

/** The workspace changes while it is measured, and a directory may be closed to a worker that is not root. */
const isPassing = (error: unknown) =>
  ["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "EPERM"].includes(codeOf(error) ?? "");

/**
 * Measures a workspace without following a link: every directory is opened through its parent's descriptor, so that a
 * command which swaps names leads nowhere else. Each file counts once, whatever its number of names, with the blocks it occupies
 * and not its length. Stops where `bound` is passed, with what it has counted so far.
 */
export async function measureWorkspace(root: string, bound: WorkspaceUse): Promise<WorkspaceUse> {
  let bytes = 0;
  let inodes = 0;
  const linked = new Set<bigint>();
  const isPast = () => bytes > bound.bytes || inodes > bound.inodes;

  const count = (stats: BigIntStats) => {
    if (stats.nlink > 1n && !stats.isDirectory()) {
      if (linked.has(stats.ino)) return;
      linked.add(stats.ino);
    }
    inodes += 1;
    bytes += Number(stats.blocks) * BLOCK_BYTES;
  };

  const walk = async (handle: FileHandle, depth: number): Promise<void> => {
    const directories: Buffer[] = [];
    const look = async (path: Buffer) => {
      try {
        const stats = await lstat(path, { bigint: true });
        count(stats);
        if (stats.isDirectory()) directories.push(path);
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
    };
    // Names are bytes: not every file name is UTF-8. The types know no such encoding here, Node does.
    const options = { encoding: "buffer" as BufferEncoding, bufferSize: AT_ONCE };
    let batch: Promise<void>[] = [];
    for await (const entry of await opendir(inside(handle, ""), options)) {
      const name = (entry.name as unknown as Buffer).toString("latin1");
      batch.push(look(inside(handle, name)));
      if (batch.length < AT_ONCE) continue;
      await Promise.all(batch);
      batch = [];
      if (isPast()) return;
    }
    await Promise.all(batch);
    if (depth === MAX_DEPTH && directories.length > 0) inodes = Math.max(inodes, bound.inodes + 1);
    for (const path of directories) {
      if (isPast()) return;
      await enter(path, depth + 1);
    }
  };

  const enter = async (path: string | Buffer, depth: number): Promise<void> => {
    let handle: FileHandle;
    try {
      handle = await openDirectory(path);
    } catch (error) {
      if (isPassing(error)) return;
      throw error;
    }
    try {
      await walk(handle, depth);
    } finally {
      await handle.close();
    }
  };

  await enter(root, 0);
  return { bytes, inodes };
}
