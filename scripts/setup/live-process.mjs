import { readFile } from "node:fs/promises";

/**
 * What the kernel says about a living process, or undefined where none has that id. A zombie is dead: nothing waits
 * for it on machines whose first process does not reap.
 * `startedTicks` (clock ticks since boot) tells a process from a later one with the same id.
 */
export async function readLiveProcess(pid) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const nameEnd = text.lastIndexOf(")");
  const fields = text.slice(nameEnd + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  return { name: text.slice(text.indexOf("(") + 1, nameEnd), startedTicks: fields[19] ?? "" };
}
