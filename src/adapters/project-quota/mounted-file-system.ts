/** A mounted file system, as far as quotas of projects are concerned. */
export interface MountedFileSystem {
  readonly mountPoint: string;
  readonly type: string;
  /** As the quota programs name it. */
  readonly device: string;
  /** Whether limits of projects are enforced, not merely counted. */
  readonly enforcesProjects: boolean;
}

/** In mountinfo, blanks and backslashes of a name are octal. */
const unescaped = (text: string) =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

const contains = (mountPoint: string, path: string) =>
  mountPoint === "/" || path === mountPoint || path.startsWith(`${mountPoint}/`);

/** The file system that an absolute path is on, by the text of `/proc/self/mountinfo`; null where no line says so. */
export function fileSystemOf(path: string, mountinfo: string): MountedFileSystem | null {
  let found: MountedFileSystem | null = null;
  for (const line of mountinfo.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const mountPoint = unescaped(before.split(" ")[4] ?? "");
    const [type = "", device = "", options = ""] = after.split(" ");
    if (mountPoint === "" || !contains(mountPoint, path)) continue;
    // Of two on the same mount point the later one covers the earlier.
    if (found !== null && mountPoint.length < found.mountPoint.length) continue;
    const enforcesProjects = options
      .split(",")
      .some((option) => option === "prjquota" || option === "pquota");
    found = { mountPoint, type, device: unescaped(device), enforcesProjects };
  }
  return found;
}
