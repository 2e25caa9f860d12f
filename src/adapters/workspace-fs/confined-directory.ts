import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { BytePath } from "../../domain/archive/byte-path.js";

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The `code` of a system error. */
export const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/**
 * A name in an open directory, for calls that take a path. Such a path stays in that directory whatever is done to the names above
 * it meanwhile; only its last name can be swapped, so a call on it must not follow links there.
 */
export function inside(directory: FileHandle, name: BytePath): Buffer {
  return Buffer.from(`/proc/self/fd/${directory.fd}/${name}`, "latin1");
}

/** Opens a directory by its path, whose last name is no link. */
export function openDirectory(path: string | Buffer): Promise<FileHandle> {
  return open(path, OPEN_DIRECTORY);
}

/** What is at a name: an open directory, nothing, or something that is no directory. */
export async function openInside(
  directory: FileHandle,
  name: BytePath,
): Promise<FileHandle | "missing" | "other"> {
  try {
    return await openDirectory(inside(directory, name));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "missing";
    if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ELOOP") return "other";
    throw error;
  }
}
