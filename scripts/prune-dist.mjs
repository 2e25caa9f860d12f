import { access, readdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { root } from "./setup/paths.mjs";

const dist = join(root, "dist");

/** Removes from dist what the sources no longer have, so that a deleted or renamed module can't be imported by chance. */
for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = join(entry.parentPath ?? entry.path, entry.name);
  // Its own build empties it.
  if (relative(dist, path).startsWith("console/")) continue;
  const source = join(root, "src", relative(dist, path));
  const compiled = source.replace(/(\.d\.ts|\.js|\.js\.map)$/, ".ts");
  if (!(await exists(source)) && !(await exists(compiled))) await rm(path);
}

function exists(path) {
  return access(path).then(
    () => true,
    () => false,
  );
}
