/** Bounds of one archive that is received. */
export interface ArchiveLimits {
  /** Of the whole stream, headers and padding included. */
  readonly maxBytes: number;
  readonly maxFileBytes: number;
  /** Files, links and directories, those included that are only named by what is in them. */
  readonly maxEntries: number;
  readonly maxPathBytes: number;
  /** Components of a path. Also how deep a workspace is read. */
  readonly maxDepth: number;
}

/** What was taken from an archive. */
export interface ArchiveReceipt {
  readonly entries: number;
  /** Of all files together. */
  readonly bytes: number;
}

/**
 * An archive that is not taken. `invalid` is the archive's own fault, `too_large` passes a bound, `conflict` does not fit what
 * is in the workspace.
 */
export class ArchiveRefused extends Error {
  override readonly name = "ArchiveRefused";
  readonly kind: "invalid" | "too_large" | "conflict";
  /** The entry at fault with everything escaped; null where it is none. */
  readonly entry: string | null;
  constructor(kind: ArchiveRefused["kind"], message: string, entry: string | null = null) {
    super(entry === null ? message : `entry "${entry}": ${message}`);
    this.kind = kind;
    this.entry = entry;
  }
}
