import { access } from "node:fs/promises";
import { join } from "node:path";
import { must } from "./command.mjs";
import { hashFiles } from "./inputs.mjs";
import { root } from "./paths.mjs";
import { readRecordedHash, recordHash } from "./recorded-hash.mjs";

/** The program that `npm run build` makes. */
export const cliPath = join(root, "dist", "main", "cli.js");

/** What dist is made from. */
export const buildInputs = [
  "src",
  "console",
  "scripts/copy-assets.mjs",
  "tsconfig.json",
  "tsconfig.build.json",
  "package-lock.json",
];

/** Compiles src to dist where something that matters to the compiler changed. */
export async function ensureBuild(progress) {
  const hash = await hashFiles(buildInputs);
  const present = await access(cliPath).then(
    () => true,
    () => false,
  );
  if (present && (await readRecordedHash("dist")) === hash) {
    progress.ready("Build", "dist is current");
    return;
  }
  await progress.step("Build: compiling src to dist", "about 10 s", () =>
    must("npm", ["run", "--silent", "build"], { cwd: root, timeoutMs: 300_000 }),
  );
  await recordHash("dist", hash);
}
