import { type SpawnOptions, spawn } from "node:child_process";

/** Runs a program to its end, without a shell and without its output. Rejects when it fails. */
export function runToEnd(
  program: string,
  args: readonly string[],
  options: Pick<SpawnOptions, "cwd"> = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 120_000, ...options });
    let complaint = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      complaint = (complaint + chunk.toString("utf8")).slice(-2_000);
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} ended with ${code ?? signal}: ${complaint.trim()}`));
    });
  });
}

/** Whether a program is there to be run. */
export async function isThere(program: string): Promise<boolean> {
  return runToEnd(program, ["--version"]).then(
    () => true,
    () => false,
  );
}
