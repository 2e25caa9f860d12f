import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Absolute path of the checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** Everything set-up makes outside node_modules and dist; ignored by git and safe to delete while nothing runs. */
export const stateDir = join(root, ".bailiff");

/** Where a file of the set-up's state lives. */
export function statePath(...parts) {
  return join(stateDir, ...parts);
}
