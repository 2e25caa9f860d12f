import { lstat, readlink } from "node:fs/promises";
import {
  type PathFact,
  type WorkspaceFacts,
  workspaceFacts,
} from "../../domain/containment/workspace-facts.js";

/** As many as Linux follows before ELOOP. */
const MAX_LINKS = 40;
const WORKSPACE_NAME = "workspace";

type Entry =
  | { readonly kind: "directory" | "file" | "missing" | "unknown" }
  | { readonly kind: "link"; readonly target: string };

/**
 * Looks up where workspace-relative paths lead when every symbolic link is followed as the container follows it: an absolute link is
 * read against the container's root, where only `/workspace` is inside. The host's side of a link is never followed, so nothing
 * about the host shows in the answer. One `lstat` per distinct component. Never throws; an error counts as `unknown`.
 */
export async function resolveFacts(
  workspaceRoot: string,
  candidates: readonly string[],
): Promise<WorkspaceFacts> {
  const entries = new Map<string, Promise<Entry>>();
  const table = new Map<string, PathFact>();
  for (const candidate of candidates)
    table.set(candidate, (await resolvePath(workspaceRoot, candidate, entries)).fact);
  return workspaceFacts(table);
}

/** Where a path leads: `path` is set where that is inside, and free of symbolic links. */
export interface ResolvedPath {
  readonly fact: PathFact;
  /** Relative to the workspace root; `.` for the root itself. */
  readonly path: string | null;
}

/** Looks up one path as `resolveFacts` does. */
export async function resolvePath(
  workspaceRoot: string,
  path: string,
  entries: Map<string, Promise<Entry>> = new Map(),
): Promise<ResolvedPath> {
  const nowhere = (fact: PathFact): ResolvedPath => ({ fact, path: null });
  if (path.includes("\0")) return nowhere("unknown");
  const pending = components(path).reverse();
  // `undefined` stands for the container's root directory, the parent of the workspace.
  let inside: string[] | undefined = [];
  let links = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (inside === undefined) {
      if (next === "..") continue;
      if (next !== WORKSPACE_NAME) return nowhere("outside");
      inside = [];
      continue;
    }
    if (next === "..") {
      if (inside.length === 0) inside = undefined;
      else inside.pop();
      continue;
    }
    const here: string = [...inside, next].join("/");
    const entry: Entry = await lookUp(workspaceRoot, here, entries);
    if (entry.kind === "unknown" || entry.kind === "missing") return nowhere(entry.kind);
    if (entry.kind === "link") {
      if (++links > MAX_LINKS) return nowhere("outside");
      if (entry.target.startsWith("/")) inside = undefined;
      pending.push(...components(entry.target).reverse());
      continue;
    }
    if (entry.kind === "file") {
      return pending.length === 0 ? { fact: "inside", path: here } : nowhere("missing");
    }
    inside.push(next);
  }
  if (inside === undefined) return nowhere("outside");
  return { fact: "inside", path: inside.length === 0 ? "." : inside.join("/") };
}

function lookUp(workspaceRoot: string, path: string, entries: Map<string, Promise<Entry>>): Promise<Entry> {
  const known = entries.get(path);
  if (known !== undefined) return known;
  const entry = readEntry(`${workspaceRoot}/${path}`);
  entries.set(path, entry);
  return entry;
}

async function readEntry(path: string): Promise<Entry> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return { kind: "link", target: await readlink(path) };
    return { kind: stats.isDirectory() ? "directory" : "file" };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return {
      kind: code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" ? "missing" : "unknown",
    };
  }
}

function components(path: string): string[] {
  return path.split("/").filter((component) => component !== "" && component !== ".");
}
