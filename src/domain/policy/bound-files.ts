import type { SeenVector } from "./see-through.js";

/**
 * Workspace-relative files whose content an approval has to bind: argv[0] given as a path and script operands, of every vector.
 * Folded lexically; sorted, without duplicates. Absolute paths outside the workspace are not listed: they belong to the image.
 */
export function boundFiles(vectors: readonly SeenVector[]): readonly string[] {
  const files = new Set<string>();
  for (const vector of vectors) {
    const argv0 = vector.argv[0] ?? "";
    for (const cwd of vector.cwds) {
      if (argv0.includes("/")) add(files, argv0, cwd);
      if (vector.scriptIndex !== undefined) add(files, vector.argv[vector.scriptIndex] ?? "", cwd);
    }
  }
  return [...files].sort();
}

function add(files: Set<string>, path: string, cwd: string): void {
  let text = cwd === "." ? path : `${cwd}/${path}`;
  if (path.startsWith("/")) {
    const match = /^\/+workspace\/+/.exec(path);
    if (match === null) return;
    text = path.slice(match[0].length);
  }
  const parts: string[] = [];
  for (const part of text.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (parts.pop() === undefined) return;
    } else parts.push(part);
  }
  if (parts.length > 0) files.add(parts.join("/"));
}
