import { access, chmod, copyFile, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { must } from "./command.mjs";
import { hashFiles } from "./inputs.mjs";
import { root, statePath } from "./paths.mjs";
import { readRecordedHash, recordHash } from "./recorded-hash.mjs";

/** Where the built bailiff-init lies, to be bind-mounted into every container. */
const initPath = statePath("bin", "bailiff-init");

/** True where the program is there and was built from the sources as they are. */
export async function initBinaryIsCurrent() {
  const present = await access(initPath).then(
    () => true,
    () => false,
  );
  return present && (await readRecordedHash("bailiff-init")) === (await inputs());
}

/** Builds bailiff-init where its sources changed; the new file replaces the old one at once, never half written. */
export async function ensureInitBinary(progress) {
  if (await initBinaryIsCurrent()) {
    progress.ready("bailiff-init");
    return initPath;
  }
  const hash = await inputs();
  await progress.step("bailiff-init: compiling it", "a few seconds", async () => {
    await must("make", ["-C", join(root, "images", "init")], { timeoutMs: 120_000 });
    await mkdir(statePath("bin"), { recursive: true });
    // A running container holds the old file by its mount: a rename leaves that one alone.
    const next = `${initPath}.${process.pid}`;
    await copyFile(join(root, "images", "init", "build", "bailiff-init"), next);
    await chmod(next, 0o755);
    await rename(next, initPath);
  });
  await recordHash("bailiff-init", hash);
  return initPath;
}

function inputs() {
  return hashFiles(["images/init/src", "images/init/Makefile"]);
}
