// there|own PATH [PROGRAM ARGUMENT...]: waits until PATH is there, or is this user's; then runs PROGRAM, which is Node.js's.
import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const [, wanted, path, program] = process.argv;
if (wanted !== "there" && wanted !== "own") throw new Error(`wait for what? ${wanted}`);

// A container's first process is ended by no signal that it does not handle.
const end = () => process.exit(143);
process.once("SIGTERM", end);
const lack = wanted === "own" ? "is not this user's" : "is not there";
for (let turn = 0; !(await isSo()); turn++) {
  if (turn % 10 === 0) console.error(`waiting for a worker's engine: ${path} ${lack} yet`);
  await sleep(1_000);
}
process.off("SIGTERM", end);

if (program !== undefined) {
  process.argv.splice(1, 2);
  await import(program);
}

async function isSo() {
  try {
    const { uid } = await stat(path);
    return wanted === "there" || uid === process.getuid();
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}
