import { execFile } from "node:child_process";

/** Runs a program by its argv and gives what it printed; rejects with a QuotaProgramFault. */
export type RunProgram = (program: string, argv: readonly string[]) => Promise<string>;

/** Why a program did not do its work; the message is one clause. */
export class QuotaProgramFault extends Error {
  override readonly name = "QuotaProgramFault";
}

const LIMIT_MS = 10_000;
const OUTPUT_BYTES = 1 << 20;
const ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
};

/** The first line of what a program complained about, without anything that is not plain text. */
const complaint = (text: string) =>
  text
    .trim()
    .split("\n")[0]
    ?.replace(/[^\x20-\x7e]/g, "?")
    .slice(0, 300) ?? "";

/** Runs a program found in the safe PATH. Not a shell, not Bailiff's own environment, and not for long. */
export const runQuotaProgram: RunProgram = (program, argv) =>
  new Promise((resolve, reject) => {
    const options = {
      env: ENVIRONMENT,
      cwd: "/",
      timeout: LIMIT_MS,
      killSignal: "SIGKILL",
      maxBuffer: OUTPUT_BYTES,
    } as const;
    execFile(program, argv, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (error.code === "ENOENT") reject(new QuotaProgramFault(`${program} is not installed`));
      else if (error.killed === true)
        reject(new QuotaProgramFault(`${program} did not end within ${LIMIT_MS / 1000} s`));
      else {
        const said = complaint(stderr);
        reject(new QuotaProgramFault(said === "" ? `${program} failed` : `${program} failed: ${said}`));
      }
    });
  });

/** What `lsattr -pd` says about a directory; null where it is not understood. */
export function parseProject(
  printed: string,
): { readonly project: number; readonly isInherited: boolean } | null {
  const found = /^\s*(\d+) ([-A-Za-z]+) /.exec(printed);
  if (found === null) return null;
  return { project: Number(found[1]), isInherited: found[2]?.includes("P") === true };
}

/** The hard limits on a device, in what `quota -P -v -w -p` says about one project; null where it does not say. */
export function parseLimits(
  printed: string,
  device: string,
): { readonly kibibytes: number; readonly inodes: number } | null {
  for (const line of printed.split("\n")) {
    const fields = line.trim().split(/\s+/);
    // Device, then used, soft, hard and grace of the blocks, and the same of the inodes.
    if (fields.length !== 9 || fields[0] !== device) continue;
    const [kibibytes, inodes] = [Number(fields[3]), Number(fields[7])];
    if (Number.isSafeInteger(kibibytes) && Number.isSafeInteger(inodes)) return { kibibytes, inodes };
  }
  return null;
}
