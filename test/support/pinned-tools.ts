import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const STATE = fileURLToPath(new URL("../../.bailiff", import.meta.url));

/** Installs the npm packages that a folder pins, apart from the project's own and where they are not there yet. Their `node_modules`. */
export async function installPinnedTools(name: string, pinned: string): Promise<string> {
  const directory = join(STATE, name);
  const lock = await readFile(join(pinned, "package-lock.json"), "utf8");
  const marker = join(directory, "installed-lock.json");
  if ((await readFile(marker, "utf8").catch(() => "")) !== lock) {
    await mkdir(directory, { recursive: true });
    await cp(pinned, directory, { recursive: true });
    // No scripts: nothing here needs one. The Node.js that programs ask for is installed beside them.
    const options = ["--ignore-scripts", "--engine-strict=false", "--no-audit", "--no-fund"];
    await promisify(execFile)("npm", ["ci", ...options], { cwd: directory });
    await writeFile(marker, lock);
  }
  return join(directory, "node_modules");
}
