import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { must } from "./command.mjs";
import { root } from "./paths.mjs";
import { SetupError } from "./setup-error.mjs";

/** The oldest Node.js that runs Bailiff; the same as `engines` in package.json. */
const oldestNode = [20, 19];

/** Refuses a Node.js that is too old, with words instead of a syntax error later on. */
export function requireNode(version = process.versions.node) {
  const [major, minor] = version.split(".").map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  throw new SetupError(
    `Node.js ${version} is too old: ${oldestNode.join(".")} or newer is needed.`,
    "Install a newer Node.js, for example the current LTS release.",
  );
}

/** Makes node_modules what package-lock.json says: everything where there is nothing, else only what differs. */
export async function ensureNodeModules(progress) {
  const state = await compare();
  if (state === "same") {
    progress.ready("Node modules");
    return;
  }
  const clean = state === "missing" || process.env.CI === "true";
  await progress.step(`Node modules: npm ${clean ? "ci" : "install"}`, "10 to 60 s", () =>
    must("npm", [clean ? "ci" : "install", "--no-audit", "--no-fund", "--include=dev"], {
      cwd: root,
      timeoutMs: 900_000,
    }),
  );
}

async function compare() {
  const wanted = await readPackages(join(root, "package-lock.json"));
  if (!wanted)
    throw new SetupError("package-lock.json is missing or is not JSON.", "Restore it from the repository.");
  const installed = await readPackages(join(root, "node_modules", ".package-lock.json"));
  if (!installed) return "missing";
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "" || entry.link) continue;
    const present = installed[path];
    // Optional packages are for other platforms where they are absent.
    if (!present && (entry.optional || entry.devOptional || entry.peer)) continue;
    if (present?.version !== entry.version) return "different";
  }
  return "same";
}

async function readPackages(path) {
  try {
    return JSON.parse(await readFile(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}
