/** What one attempt to get out, or to take more than its share, came to on each OCI runtime. */
export interface EscapeRow {
  readonly attempt: string;
  readonly runc: EscapeVerdict;
  /** With `--platform=ptrace --network=none --ignore-cgroups`. */
  readonly runsc: EscapeVerdict;
}

/** Whether the attempt failed, or ended its own command only. */
export type EscapeVerdict = "held" | "not held";

const held = (...attempts: readonly string[]): EscapeRow[] =>
  attempts.map((attempt) => ({ attempt, runc: "held", runsc: "held" }));
const heldByRuncAlone = (attempt: string): EscapeRow => ({ attempt, runc: "held", runsc: "not held" });

/** What must come of each attempt; `docs/isolation.md` shows it, and `test/integration/docker/escape.test.ts` proves it. */
export const ESCAPE_MATRIX: readonly EscapeRow[] = [
  ...held(
    "hold a capability",
    "become root",
    "write to the root file system",
    "write to bailiff-init",
    "kill bailiff-init",
    "trace bailiff-init",
    "mount a file system",
    "remount the root writable",
  ),
  // A namespace of gVisor's own kernel, without the capability to mount anything in it.
  heldByRuncAlone("enter a new mount namespace"),
  ...held(
    "mount in a new user namespace",
    "enter a new network namespace",
    "make and read a block device",
    "make and read /dev/mem",
    "read /dev/mem",
    "read /proc/kcore",
    "write /proc/sys/kernel/core_pattern",
    "write /proc/sysrq-trigger",
    "write /sys/kernel/uevent_helper",
    "raise its own memory limit",
    "connect to an address outside",
    "send a datagram outside",
    "reach the metadata service (169.254.169.254)",
    "reach the engine's host",
    "open a raw socket",
    "reach the engine's socket",
    "read a service account's token",
    "change what a quota counts a file by",
    "fill /tmp",
    "fill /dev/shm",
    "fill HOME",
  ),
  heldByRuncAlone("start more processes than its limit"),
  heldByRuncAlone("take more memory than its limit"),
  ...held("fill the workspace"),
];

/** The matrix as a Markdown table. */
export function escapeTable(rows: readonly Readonly<Record<keyof EscapeRow, string>>[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["attempt", "runc", "runsc"]),
    line(["---", "---", "---"]),
    ...rows.map(({ attempt, runc, runsc }) => line([attempt, runc, runsc])),
  ].join("\n");
}
