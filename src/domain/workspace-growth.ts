/** What a workspace occupies: bytes of its file system, and entries of every kind. */
export interface WorkspaceUse {
  readonly bytes: number;
  readonly inodes: number;
}

/** Which limit a workspace is over, by the name of its setting. */
export type WorkspaceExcess = "workspace_bytes" | "workspace_inodes";

/**
 * Above its limit a workspace still takes commands, so that one of them can delete; above this many times its limit it takes
 * none, so that many short commands can't add up to more than a look at a running one would have allowed.
 */
const REFUSED_AT = 1.25;

/** Where measuring may stop: what lies beyond changes no verdict. */
export function measureBound(limits: WorkspaceUse): WorkspaceUse {
  return { bytes: limits.bytes * REFUSED_AT, inodes: limits.inodes * REFUSED_AT };
}

function above(used: WorkspaceUse, bound: WorkspaceUse): WorkspaceExcess | null {
  if (used.bytes > bound.bytes) return "workspace_bytes";
  return used.inodes > bound.inodes ? "workspace_inodes" : null;
}

/** Whether a workspace that was last measured like this takes no command; null where it does, or nothing is known. */
export function refusesCommands(last: WorkspaceUse | null, limits: WorkspaceUse): WorkspaceExcess | null {
  return last === null ? null : above(last, measureBound(limits));
}

/**
 * Whether a running command is to be ended: its workspace is over a limit and grew while it ran. `before` is what was known
 * of the workspace when it began; of one that was over already, only a command that makes it larger is ended.
 */
export function outgrows(
  before: WorkspaceUse | null,
  now: WorkspaceUse,
  limits: WorkspaceUse,
): WorkspaceExcess | null {
  const far = above(now, measureBound(limits));
  if (far !== null) return far;
  // Not measured before: this is the first look, and whoever grows will be seen at the next.
  const start = before ?? now;
  return above(now, {
    bytes: Math.max(limits.bytes, start.bytes),
    inodes: Math.max(limits.inodes, start.inodes),
  });
}

/**
 * Whether an archive is too much for its workspace: it would make it larger, and larger than a limit. `added` is what the archive
 * takes by itself, `givenBack` what goes where it takes a place.
 */
export function overfills(
  before: WorkspaceUse,
  added: WorkspaceUse,
  givenBack: WorkspaceUse,
  limits: WorkspaceUse,
): WorkspaceExcess | null {
  const growth = { bytes: added.bytes - givenBack.bytes, inodes: added.inodes - givenBack.inodes };
  if (growth.bytes > 0 && before.bytes + growth.bytes > limits.bytes) return "workspace_bytes";
  return growth.inodes > 0 && before.inodes + growth.inodes > limits.inodes ? "workspace_inodes" : null;
}
