import { readdir, readFile } from "node:fs/promises";

/** How many processes of this machine have `marker` in their command line. */
export async function countProcessesNaming(marker: string): Promise<number> {
  const entries = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const commandLines = await Promise.all(
    // A process may end between the listing and the read.
    entries.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return commandLines.filter((line) => line.includes(marker)).length;
}
