import { link, mkdir, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { stateDir, statePath } from "./paths.mjs";

/**
 * Runs `work` while no other set-up of this checkout runs. A lock whose owner is dead is broken. The lock file
 * appears with its owner inside (a hard link), so that nobody ever reads a lock that isn't signed yet.
 */
export async function withSetupLock(progress, work, { path = statePath("setup.lock"), pollMs = 500 } = {}) {
  await mkdir(stateDir, { recursive: true });
  const mine = `${path}.${process.pid}`;
  await writeFile(mine, JSON.stringify({ pid: process.pid, startedTicks: await startTicks(process.pid) }));
  let told = false;
  try {
    for (;;) {
      const taken = await link(mine, path).then(
        () => true,
        (error) => {
          if (error.code === "EEXIST") return false;
          throw error;
        },
      );
      if (taken) break;
      const text = await readFile(path, "utf8").catch(() => undefined);
      if (text === undefined) continue;
      if (await isDead(text)) {
        await breakLock(path, text);
        continue;
      }
      if (!told) {
        progress.note(
          `Waiting for another set-up of this checkout (process ${ownerOf(text)?.pid}) to finish`,
        );
        told = true;
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    try {
      return await work();
    } finally {
      await unlink(path).catch(() => {});
    }
  } finally {
    await unlink(mine).catch(() => {});
  }
}

/** Takes the dead lock away by a rename of its own; a live one that came in between is put back. */
async function breakLock(path, deadText) {
  const aside = `${path}.${process.pid}.dead`;
  const moved = await rename(path, aside).then(
    () => true,
    () => false,
  );
  if (!moved) return;
  if ((await readFile(aside, "utf8").catch(() => deadText)) !== deadText) {
    await link(aside, path).catch(() => {});
  }
  await unlink(aside).catch(() => {});
}

async function isDead(text) {
  const owner = ownerOf(text);
  if (owner === undefined) return true;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return error.code === "ESRCH";
  }
  return (await startTicks(owner.pid)) !== owner.startedTicks;
}

function ownerOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** When a process started, in clock ticks since boot: tells a process from a later one with the same id. */
async function startTicks(pid) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
