import { Buffer } from "node:buffer";
import { safeText } from "../rendering/safe-text.js";
import { type ArchiveLimits, ArchiveRefused } from "./archive-terms.js";

/**
 * A path or name with one character per byte (latin1): file names are bytes, and one that is no UTF-8 must neither be lost nor
 * become another.
 */
export type BytePath = string;

/** What Linux takes as one name. */
const MAX_NAME_BYTES = 255;
/** What Linux takes as a symbolic link's target. */
const MAX_TARGET_BYTES = 4095;
const MAX_SHOWN_CHARACTERS = 200;
/** Where a container sees its workspace. */
const WORKSPACE = "workspace";

/** A path for messages: every character that could mislead is escaped, and a long one is cut. */
export function shownPath(path: BytePath): string {
  const { text } = safeText(Buffer.from(path, "latin1").toString("utf8"));
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`;
}

/**
 * The components of an entry's path; none for the workspace itself. Throws ArchiveRefused for a path that is absolute, goes up
 * or passes a bound.
 */
export function entryPath(path: BytePath, limits: ArchiveLimits): readonly BytePath[] {
  const refuse = (message: string) => new ArchiveRefused("invalid", message, shownPath(path));
  if (path.length > limits.maxPathBytes)
    throw refuse(`its path is longer than archives.max_path_bytes (${limits.maxPathBytes} bytes)`);
  if (path === "") throw refuse("its path is empty");
  if (path.includes("\0")) throw refuse("its path has a NUL in it");
  if (path.startsWith("/")) throw refuse("its path is absolute");
  const components = componentsOf(path);
  if (components.includes("..")) throw refuse("its path goes up by `..`");
  if (components.some((name) => name.length > MAX_NAME_BYTES))
    throw refuse(`a name in its path is longer than ${MAX_NAME_BYTES} bytes`);
  if (components.length > limits.maxDepth)
    throw refuse(`its path is deeper than archives.max_depth (${limits.maxDepth} names)`);
  return components;
}

/**
 * Throws ArchiveRefused unless a symbolic link at `path` leads inside, whatever other links of archives its target goes through:
 * `..` is taken only at the target's beginning, where it goes up from a real directory. Behind a name it would go up from
 * wherever that name leads.
 */
export function requireInnerTarget(path: readonly BytePath[], target: BytePath): void {
  const refuse = (message: string) => new ArchiveRefused("invalid", message, shownPath(path.join("/")));
  if (target === "" || target.includes("\0")) throw refuse("its target is no path");
  if (target.length > MAX_TARGET_BYTES) throw refuse(`its target is longer than ${MAX_TARGET_BYTES} bytes`);
  const components = componentsOf(target);
  let up = 0;
  while (components[up] === "..") up += 1;
  if (components.includes("..", up)) throw refuse("its target has a `..` behind a name");
  const isInside = target.startsWith("/") ? up === 0 && components[0] === WORKSPACE : up <= path.length - 1;
  if (!isInside) throw refuse("its target is outside of the workspace");
}

function componentsOf(path: BytePath): BytePath[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
