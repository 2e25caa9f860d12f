import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { FileContent, WorkspaceContents } from "../../ports/workspace-store.js";
import { resolvePath } from "./resolve-facts.js";

const CHUNK_BYTES = 1 << 20;
/** Non-blocking, so that a FIFO in a file's place can't hold the reader. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const unusable = (reason: "outside" | "not_a_file" | "too_large" | "unreadable"): FileContent => ({
  kind: "unusable",
  reason,
});

/**
 * Reads what an approval binds. Links are followed as the container follows them; a file is then opened without following any,
 * and what was opened is checked to be at the place that was looked up, so that a swap in between leads nowhere else.
 */
export async function readContents(
  workspaceRoot: string,
  wanted: { readonly cwd: string; readonly files: readonly string[]; readonly maxBytes: number },
): Promise<WorkspaceContents> {
  const files: FileContent[] = [];
  let leftBytes = wanted.maxBytes;
  for (const path of wanted.files) {
    const { content, bytes } = await readFileContent(workspaceRoot, path, leftBytes);
    leftBytes -= bytes;
    files.push(content);
  }
  return { realCwd: await realDirectory(workspaceRoot, wanted.cwd), files };
}

async function realDirectory(workspaceRoot: string, cwd: string): Promise<string | null> {
  const { path } = await resolvePath(workspaceRoot, cwd);
  if (path === null) return null;
  try {
    return (await lstat(join(workspaceRoot, path))).isDirectory() ? path : null;
  } catch {
    return null;
  }
}

async function readFileContent(
  workspaceRoot: string,
  path: string,
  leftBytes: number,
): Promise<{ content: FileContent; bytes: number }> {
  const without = (content: FileContent) => ({ content, bytes: 0 });
  const resolved = await resolvePath(workspaceRoot, path);
  if (resolved.fact === "missing") return without({ kind: "missing" });
  if (resolved.fact === "outside") return without(unusable("outside"));
  if (resolved.path === null) return without(unusable("unreadable"));
  try {
    const expected = join(await realpath(workspaceRoot), resolved.path);
    const file = await open(expected, OPEN_FILE);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return without(unusable("not_a_file"));
      if ((await readlink(`/proc/self/fd/${file.fd}`)) !== expected) return without(unusable("unreadable"));
      if (stats.size > leftBytes) return without(unusable("too_large"));
      const hash = createHash("sha256");
      const chunk = Buffer.alloc(Math.max(1, Math.min(CHUNK_BYTES, stats.size + 1)));
      let bytes = 0;
      for (;;) {
        const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
        if (bytesRead === 0) break;
        bytes += bytesRead;
        // It may grow while it is read.
        if (bytes > leftBytes) return { content: unusable("too_large"), bytes: leftBytes };
        hash.update(chunk.subarray(0, bytesRead));
      }
      return { content: { kind: "sha256", sha256: hash.digest("hex") }, bytes };
    } finally {
      await file.close();
    }
  } catch {
    return without(unusable("unreadable"));
  }
}
