import { chmod, copyFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must } from "./command.mjs";
import { root } from "./paths.mjs";

/** Puts the Node.js that images/node pins for this machine's processor at a path. */
export async function copyLockedNode(target) {
  await installed("images/node", async (modules) => {
    await copyFile(join(modules, `node-linux-${process.arch}`, "bin", "node"), target);
    await chmod(target, 0o755);
  });
}

/** Puts the npm that images/sandbox/npm pins at a path, as a folder. */
export async function copyLockedNpm(target) {
  await installed("images/sandbox/npm", (modules) => cp(join(modules, "npm"), target, { recursive: true }));
}

/** Installs a folder's lock file, and nothing that a package would run, where it is gone afterwards. */
async function installed(folder, take) {
  const directory = await mkdtemp(join(tmpdir(), "bailiff-locked-"));
  try {
    await cp(join(root, folder), directory, { recursive: true });
    await must(
      "npm",
      ["ci", "--ignore-scripts", "--engine-strict=false", "--prefer-offline", "--no-audit", "--no-fund"],
      { cwd: directory, timeoutMs: 600_000 },
    );
    await take(join(directory, "node_modules"));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
