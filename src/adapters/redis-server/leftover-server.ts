import { readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../ports/telemetry.js";

/** Beside the data: which process serves the directory, and who started it. */
export const PID_FILE = "bailiff-redis.json";

const TERM_LIMIT_MS = 10_000;

/**
 * Ends a redis-server whose owner died without stopping it. The recorded pid alone proves nothing, as pids come again:
 * only a redis-server that works in this very directory is touched.
 * @throws Error when the server's owner is alive: two processes must not share the directory.
 */
export async function endLeftoverServer(directory: string, log: Log): Promise<void> {
  const path = join(directory, PID_FILE);
  const recorded = await readRecorded(path);
  if (recorded === null) return;
  if (await isServerOf(recorded.pid, directory)) {
    // An orphan has another parent than the one that started it.
    if ((await parentOf(recorded.pid)) === recorded.owner) {
      throw new Error(`${directory} is in use by the Bailiff process ${recorded.owner}`);
    }
    log.warn({ pid: recorded.pid }, "ending the private redis-server that an earlier process left behind");
    await endProcess(recorded.pid, directory);
  }
  await rm(path, { force: true });
}

async function endProcess(pid: number, directory: string): Promise<void> {
  signal(pid, "SIGTERM");
  const deadlineMs = performance.now() + TERM_LIMIT_MS;
  while (await isServerOf(pid, directory)) {
    if (performance.now() > deadlineMs) signal(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function readRecorded(path: string): Promise<{ pid: number; owner: number } | null> {
  try {
    const { pid, owner } = JSON.parse(await readFile(path, "utf8")) as { pid?: unknown; owner?: unknown };
    if (typeof pid !== "number" || typeof owner !== "number" || pid < 2) return null;
    return { pid, owner };
  } catch {
    return null;
  }
}

async function isServerOf(pid: number, directory: string): Promise<boolean> {
  try {
    const [command, workingDirectory, state] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`, "utf8"),
      readlink(`/proc/${pid}/cwd`),
      statusField(pid, "State"),
    ]);
    return command.includes("redis-server") && workingDirectory === directory && !state.startsWith("Z");
  } catch {
    return false;
  }
}

async function parentOf(pid: number): Promise<number | null> {
  return statusField(pid, "PPid").then(Number, () => null);
}

async function statusField(pid: number, name: string): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const line = status.split("\n").find((each) => each.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim() ?? "";
}
