import { constants } from "node:fs";
import { type FileHandle, lchown, link, lstat, mkdir, open, symlink, unlink } from "node:fs/promises";
import {
  type ArchiveLimits,
  type ArchiveReceipt,
  ArchiveRefused,
} from "../../domain/archive/archive-terms.js";
import { type BytePath, entryPath, requireInnerTarget, shownPath } from "../../domain/archive/byte-path.js";
import { codeOf, inside, openDirectory, openInside } from "./confined-directory.js";
import { readTar, type TarEntry } from "./read-tar.js";
import { processIdentity } from "./workspaces-root.js";

const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** No setuid, no setgid, no sticky bit. */
const MODE_BITS = 0o777;
const NAMED_ONLY_MODE = 0o755;
/** The end of the year 9999: what is later is no time that a file system keeps. */
const LAST_TIME_S = 253_402_300_799;

/**
 * Unpacks an archive into a directory that only this process's user can reach, as files of the workspace's owner. Throws
 * ArchiveRefused for an archive that is not taken, whatever is in the directory then.
 */
export async function stageArchive(
  staging: string,
  owner: { readonly uid: number; readonly gid: number },
  chunks: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
): Promise<ArchiveReceipt> {
  const self = processIdentity();
  const gives = self.uid !== owner.uid || self.gid !== owner.gid;
  /** The way to the last entry's directory: archives are in order, so the next one's is mostly the same. */
  const way: { readonly name: BytePath; readonly handle: FileHandle }[] = [];
  const root = await openDirectory(staging);
  let entries = 0;
  let bytes = 0;

  const count = (shown: string) => {
    entries += 1;
    if (entries > limits.maxEntries)
      throw new ArchiveRefused(
        "too_large",
        `the archive has more than archives.max_entries (${limits.maxEntries}) files, links and directories`,
        shown,
      );
  };
  const finish = async (handle: FileHandle, mode: number) => {
    if (gives) await handle.chown(owner.uid, owner.gid);
    await handle.chmod(mode);
  };
  const notDirectory = (shown: string) =>
    new ArchiveRefused("invalid", "its path goes through an entry that is no directory", shown);
  const enter = async (parent: FileHandle, name: BytePath, shown: string): Promise<FileHandle> => {
    const there = await openInside(parent, name);
    if (there === "other") throw notDirectory(shown);
    if (there !== "missing") return there;
    count(shown);
    await mkdir(inside(parent, name), { mode: 0o700 });
    const made = await openInside(parent, name);
    if (typeof made === "string") throw new Error("a staged directory is gone");
    await finish(made, NAMED_ONLY_MODE);
    return made;
  };
  const goTo = async (path: readonly BytePath[], shown: string): Promise<FileHandle> => {
    let same = 0;
    while (same < way.length && same < path.length && way[same]?.name === path[same]) same += 1;
    for (const { handle } of way.splice(same).reverse()) await handle.close();
    for (const name of path.slice(same)) {
      const handle = await enter(way.at(-1)?.handle ?? root, name, shown);
      way.push({ name, handle });
    }
    return way.at(-1)?.handle ?? root;
  };
  /** Later entries take the place of earlier ones, except of directories. */
  const clear = async (place: Buffer, shown: string) => {
    try {
      await unlink(place);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      if (codeOf(error) === "EISDIR" || codeOf(error) === "EPERM")
        throw new ArchiveRefused("invalid", "a directory of the archive has the same path", shown);
      throw error;
    }
  };
  const writeFile = async (entry: TarEntry, place: Buffer) => {
    const file = await open(place, CREATE_FILE, 0o600);
    try {
      for await (const chunk of entry.body()) await file.writeFile(chunk);
      await finish(file, entry.mode & MODE_BITS);
      const timeS = Math.min(entry.mtimeS, LAST_TIME_S);
      await file.utimes(timeS, timeS);
    } finally {
      await file.close();
    }
    bytes += entry.size;
  };
  const linkTo = async (entry: TarEntry, place: Buffer, shown: string) => {
    const target = entryPath(entry.linkName, limits);
    const base = target.at(-1);
    const missing = new ArchiveRefused("invalid", "it is a link to no earlier file of the archive", shown);
    if (base === undefined) throw missing;
    let directory = await openDirectory(staging);
    try {
      for (const name of target.slice(0, -1)) {
        const next = await openInside(directory, name);
        if (typeof next === "string") throw missing;
        await directory.close();
        directory = next;
      }
      const source = inside(directory, base);
      const found = await lstat(source).catch(() => null);
      if (found === null || !found.isFile()) throw missing;
      await link(source, place);
    } finally {
      await directory.close();
    }
  };
  const take = async (entry: TarEntry) => {
    const shown = shownPath(entry.name);
    if (entry.size > limits.maxFileBytes)
      throw new ArchiveRefused(
        "too_large",
        `it is larger than archives.max_file_bytes (${limits.maxFileBytes} bytes)`,
        shown,
      );
    const path = entryPath(entry.name, limits);
    if (entry.kind === "directory") {
      const directory = await goTo(path, shown);
      // Its owner can always work in it. The workspace itself keeps its mode.
      if (path.length > 0) await finish(directory, (entry.mode & MODE_BITS) | 0o700);
      return;
    }
    const base = path.at(-1);
    if (base === undefined) throw new ArchiveRefused("invalid", "it would take the workspace's place", shown);
    const directory = await goTo(path.slice(0, -1), shown);
    const place = inside(directory, base);
    count(shown);
    if (entry.kind === "symlink") requireInnerTarget(path, entry.linkName);
    if (entry.kind === "hardlink" && entryPath(entry.linkName, limits).join("/") === path.join("/"))
      throw new ArchiveRefused("invalid", "it is a link to itself", shown);
    await clear(place, shown);
    if (entry.kind === "file") await writeFile(entry, place);
    else if (entry.kind === "hardlink") await linkTo(entry, place, shown);
    else {
      await symlink(Buffer.from(entry.linkName, "latin1"), place);
      if (gives) await lchown(place, owner.uid, owner.gid);
    }
  };

  try {
    for await (const entry of readTar(chunks, limits)) await take(entry);
    return { entries, bytes };
  } finally {
    for (const { handle } of way.reverse()) await handle.close();
    await root.close();
  }
}
