import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { CLI } from "../../test/support/bailiff.js";
import { residentMib } from "./memory-watch.js";

const PROBE = new URL("heap-probe.mjs", import.meta.url).href;
const ANSWER_LIMIT_MS = 30_000;
const MIB = 1 << 20;

/** What a process holds at one moment. */
export interface Holding {
  readonly residentMib: number;
  /** After the process collected its garbage. */
  readonly heapMib: number;
  readonly sockets: number;
  readonly pipes: number;
  /** Files and all that is neither of the others. */
  readonly files: number;
}

/** The arguments that start a role as its command line does, and have it answer `holdingOf`. */
export function watchedCommand(role: "api" | "worker"): (configPath: string) => readonly string[] {
  return (configPath) => ["--expose-gc", "--import", PROBE, CLI, role, "--config", configPath];
}

/** Looks at a process that was started with `watchedCommand`. */
export async function holdingOf(child: ChildProcess): Promise<Holding> {
  const { pid } = child;
  if (pid === undefined) throw new Error("the process has no id");
  const answered = once(child, "message", { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  child.send("heap");
  const [heapBytes] = (await answered) as [number];
  return { residentMib: residentMib(pid), heapMib: heapBytes / MIB, ...descriptorsOf(pid) };
}

function descriptorsOf(pid: number): Pick<Holding, "sockets" | "pipes" | "files"> {
  const count = { sockets: 0, pipes: 0, files: 0 };
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const target = targetOf(`/proc/${pid}/fd/${name}`);
    if (target === null) continue;
    if (target.startsWith("socket:")) count.sockets += 1;
    else if (target.startsWith("pipe:")) count.pipes += 1;
    else count.files += 1;
  }
  return count;
}

/** Null for one that was closed meanwhile. */
function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
