import { randomBytes } from "node:crypto";
import { chmod, opendir, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, openDirectory } from "./confined-directory.js";

/** How often one directory may be found filled again. */
const MAX_VISITS = 100;

/** False where the entry is a directory. An entry that is gone counts as removed. */
async function unlinkUnlessDirectory(path: string | Buffer): Promise<boolean> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) === "EISDIR" || codeOf(error) === "EPERM") return false;
    if (codeOf(error) !== "ENOENT") throw error;
  }
  return true;
}

async function openInTrash(path: string) {
  try {
    return await openDirectory(path);
  } catch (error) {
    if (codeOf(error) !== "EACCES") throw error;
    // Only without root's rights: the entry is directly in the trash, where no one can put a link in its place.
    await chmod(path, 0o700);
    return await openDirectory(path);
  }
}

/** Moves a directory up into the trash; null where it is gone. */
async function moveUp(trash: string, child: Buffer): Promise<string | null> {
  const place = join(trash, randomBytes(16).toString("hex"));
  try {
    await rename(child, place);
    return place;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) !== "EACCES") throw error;
    // Only without root's rights: the mode of one's own directory can forbid its move.
    await chmod(child, 0o700);
    await rename(child, place);
    return place;
  }
}

/** Deletes the files of one directory of the trash and moves its directories up; the paths that are left to do. */
async function emptyOne(trash: string, path: string): Promise<readonly string[]> {
  const handle = await openInTrash(path);
  const left: string[] = [];
  try {
    // SAFETY: a path through the open descriptor stays in that directory even while a process that still has the
    // workspace mounted swaps names; a plain path would follow a link put there between two calls.
    const inside = `/proc/self/fd/${handle.fd}/`;
    // Names are bytes: not every file name is UTF-8. The types know no such encoding here, Node does.
    const entries = await opendir(inside, { encoding: "buffer" as BufferEncoding, bufferSize: 256 });
    for await (const entry of entries) {
      const child = Buffer.concat([Buffer.from(inside), entry.name as unknown as Buffer]);
      if (await unlinkUnlessDirectory(child)) continue;
      const place = await moveUp(trash, child);
      if (place !== null) left.push(place);
    }
  } finally {
    await handle.close();
  }
  try {
    await rmdir(path);
  } catch (error) {
    if (codeOf(error) === "ENOTEMPTY" || codeOf(error) === "EEXIST") left.unshift(path);
    else if (codeOf(error) !== "ENOENT") throw error;
  }
  return left;
}

/**
 * Deletes everything at `path`, which must be an entry of `trash`, a directory that only this process's user can
 * write. Follows no link. Flat: a tree of any depth needs one open directory at a time.
 */
export async function removeTree(trash: string, path: string): Promise<void> {
  const waiting = [path];
  const visits = new Map<string, number>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (await unlinkUnlessDirectory(next)) continue;
    const visit = (visits.get(next) ?? 0) + 1;
    // Only a process that still writes there can bring us back without end.
    if (visit > MAX_VISITS) throw new Error("a directory in the trash fills again while it is being emptied");
    try {
      const left = await emptyOne(trash, next);
      if (left[0] === next) visits.set(next, visit);
      else visits.delete(next);
      waiting.push(...left);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }
}
