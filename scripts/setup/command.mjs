import { spawn } from "node:child_process";
import { SetupError } from "./setup-error.mjs";

/**
 * Runs a program and resolves with its end; never rejects for a non-zero code.
 * A program that isn't there gives code 127, a deadline that passed gives code null and `timedOut`.
 */
export function capture(program, args, { cwd, env, input, timeoutMs, onOutput } = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: env ? { ...process.env, ...env } : process.env,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const stdout = [];
    const stderr = [];
    let timedOut = false;
    const timer = timeoutMs
      ? setTimeout(() => {
          timedOut = true;
          child.kill("SIGKILL");
        }, timeoutMs)
      : undefined;
    child.stdout.on("data", (chunk) => {
      stdout.push(chunk);
      onOutput?.(chunk);
    });
    child.stderr.on("data", (chunk) => {
      stderr.push(chunk);
      onOutput?.(chunk);
    });
    const finish = (code, extra = "") => {
      clearTimeout(timer);
      resolve({
        code,
        timedOut,
        stdout: Buffer.concat(stdout).toString("utf8"),
        stderr: Buffer.concat(stderr).toString("utf8") + extra,
      });
    };
    child.on("error", (error) => finish(error.code === "ENOENT" ? 127 : 126, error.message));
    child.on("close", (code) => finish(code));
    if (input !== undefined) {
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    }
  });
}

/** Runs a program that has to succeed; the failure carries the end of what it printed. */
export async function must(program, args, options = {}) {
  const result = await capture(program, args, options);
  if (result.code === 0) return result.stdout;
  const printed = `${result.stdout}\n${result.stderr}`.trim().split("\n").slice(-25).join("\n");
  const how = result.timedOut ? `did not end within ${options.timeoutMs} ms` : `failed (${result.code})`;
  throw new SetupError(`${[program, ...args].join(" ").slice(0, 300)} ${how}`, printed);
}

/** The absolute path of the first of `names` found in PATH or the system directories, else undefined. */
export async function findProgram(...names) {
  const { access, constants } = await import("node:fs/promises");
  const directories = [
    ...(process.env.PATH ?? "").split(":"),
    "/usr/local/bin",
    "/usr/bin",
    "/usr/sbin",
    "/sbin",
    "/bin",
  ];
  for (const name of names) {
    for (const directory of directories) {
      if (!directory.startsWith("/")) continue;
      const path = `${directory}/${name}`;
      try {
        await access(path, constants.X_OK);
        return path;
      } catch {
        // not in this directory
      }
    }
  }
  return undefined;
}
