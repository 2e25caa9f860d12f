import { constants, type Dir } from "node:fs";
import { type FileHandle, lstat, open, opendir, readlink } from "node:fs/promises";
import { type BytePath, shownPath } from "../../domain/archive/byte-path.js";
import { BLOCK_BYTES, encodeComment, encodeEntry, paddingOf } from "../../domain/archive/tar-format.js";
import { codeOf, inside, openDirectory, openInside } from "./confined-directory.js";

const CHUNK_BYTES = 65_536;
/** Non-blocking, so that a FIFO that was put in a file's place can't hold the reader. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const MODE_BITS = 0o777;

/** Why an entry is not in the archive. */
type Omission = "fifo" | "socket" | "device" | "too deep" | "not readable" | "changed while it was read";

interface Level {
  readonly handle: FileHandle;
  readonly names: Dir;
  readonly path: BytePath;
}

/**
 * A directory as a tar stream, read as fast as it is asked for, following no link. What a tar stream can't carry, or what changed
 * kind while it was read, is named in a comment record in its place. Throws where a file shrinks while it is read, which cuts the
 * stream off: its reader must not take it for whole.
 */
export async function* packTree(root: string, maxDepth: number): AsyncGenerator<Buffer> {
  yield* inChunks(blocksOf(root, maxDepth));
}

async function* blocksOf(root: string, maxDepth: number): AsyncGenerator<Buffer> {
  const levels: Level[] = [];
  const enter = async (handle: FileHandle, path: BytePath) => {
    try {
      // Names are bytes: not every file name is UTF-8. The types know no such encoding here, Node does.
      const options = { encoding: "buffer" as BufferEncoding, bufferSize: 256 };
      levels.push({ handle, names: await opendir(inside(handle, ""), options), path });
    } catch (error) {
      await handle.close();
      throw error;
    }
  };
  try {
    await enter(await openDirectory(root), "");
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const next = await level.names.read();
      if (next === null) {
        levels.pop();
        await leave(level);
        continue;
      }
      const name = (next.name as unknown as Buffer).toString("latin1");
      const path = level.path === "" ? name : `${level.path}/${name}`;
      const omit = (why: Omission) =>
        encodeComment(
          Buffer.from(`bailiff: not in this archive: "${shownPath(path)}": ${why}`).toString("latin1"),
        );
      const found = await lstat(inside(level.handle, name)).catch(unlessGone);
      if (found === null) continue;
      const common = {
        name: path,
        linkName: "",
        size: 0,
        mode: found.mode & MODE_BITS,
        mtimeS: Math.floor(found.mtimeMs / 1000),
        uid: found.uid,
        gid: found.gid,
      };
      if (found.isDirectory()) {
        if (levels.length >= maxDepth) {
          yield omit("too deep");
          continue;
        }
        const handle = await openInside(level.handle, name).catch(unlessUnreadable);
        if (handle === null) yield omit("not readable");
        else if (handle === "other") yield omit("changed while it was read");
        else if (handle !== "missing") {
          await enter(handle, path);
          yield encodeEntry({ ...common, kind: "directory" });
        }
      } else if (found.isSymbolicLink()) {
        const target = await readlink(inside(level.handle, name), { encoding: "buffer" }).catch(unlessGone);
        yield target === null
          ? omit("changed while it was read")
          : encodeEntry({ ...common, kind: "symlink", mode: 0o777, linkName: target.toString("latin1") });
      } else if (found.isFile()) {
        const opened = await openFile(level.handle, name);
        if (typeof opened === "string") yield omit(opened);
        else {
          try {
            const { size, mtimeMs, mode } = await opened.stat();
            const mtimeS = Math.floor(mtimeMs / 1000);
            yield encodeEntry({ ...common, kind: "file", size, mtimeS, mode: mode & MODE_BITS });
            yield* contentOf(opened, size);
          } finally {
            await opened.close();
          }
        }
      } else yield omit(found.isFIFO() ? "fifo" : found.isSocket() ? "socket" : "device");
    }
    yield Buffer.alloc(2 * BLOCK_BYTES);
  } finally {
    for (const level of levels.reverse()) await leave(level);
  }
}

async function leave(level: Level): Promise<void> {
  await level.names.close();
  await level.handle.close();
}

async function openFile(directory: FileHandle, name: BytePath): Promise<FileHandle | Omission> {
  let file: FileHandle;
  try {
    file = await open(inside(directory, name), OPEN_FILE);
  } catch (error) {
    if (codeOf(error) === "EACCES" || codeOf(error) === "EPERM") return "not readable";
    // Gone, a link, a socket.
    if (["ENOENT", "ELOOP", "ENXIO"].includes(codeOf(error) ?? "")) return "changed while it was read";
    throw error;
  }
  try {
    if ((await file.stat()).isFile()) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return "changed while it was read";
}

/** Exactly as many bytes as the header said, and the padding behind them. What the file grows by meanwhile is left out. */
async function* contentOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let left = size; left > 0; ) {
    const chunk = Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) throw new Error("a file shrank while it was put into an archive");
    left -= bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
  yield Buffer.alloc(paddingOf(size));
}

/** Small pieces put together, so that each small file is not three writes to a socket. */
async function* inChunks(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    if (piece.length === 0) continue;
    held.push(piece);
    bytes += piece.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(held);
}

function unlessGone(error: unknown): null {
  if (["ENOENT", "EINVAL"].includes(codeOf(error) ?? "")) return null;
  throw error;
}

function unlessUnreadable(error: unknown): null {
  if (["EACCES", "EPERM"].includes(codeOf(error) ?? "")) return null;
  throw error;
}
