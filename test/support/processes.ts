import { readdir, readFile } from "node:fs/promises";

/**
 * How many processes of this machine have `entry` in the environment they were started with: a command's process and
 * everything it started, whatever their names. Needs root.
 */
export async function countProcessesWithEnvironment(entry: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(
    // A process may end between the listing and the read.
    pids.map((pid) => readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")),
  );
  return environments.filter((environment) => environment.split("\0").includes(entry)).length;
}
