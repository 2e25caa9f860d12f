import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { root } from "./paths.mjs";

/**
 * One SHA-256 over the names and bytes of files and folders of the checkout, in a fixed order: the same inputs give
 * the same hash, whatever their times say. `skip` names folders (by their last part) that are no input.
 */
export async function hashFiles(paths, { skip = [] } = {}) {
  const hash = createHash("sha256");
  for (const path of paths) await addPath(hash, join(root, path), skip);
  return hash.digest("hex");
}

async function addPath(hash, path, skip) {
  let entries;
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (error.code !== "ENOTDIR") throw error;
    const content = await readFile(path);
    hash.update(`${relative(root, path)}\0${content.length}\0`);
    hash.update(content);
    return;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!skip.includes(entry.name)) await addPath(hash, join(path, entry.name), skip);
  }
}
