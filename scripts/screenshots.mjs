import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "./setup/paths.mjs";
import { prepare } from "./setup/prepare.mjs";
import { createProgress } from "./setup/progress.mjs";
import { printFailure } from "./setup/setup-error.mjs";

/** Takes the pictures in docs/images from a real installation, which it starts and removes. */
try {
  await prepare(createProgress(), { build: true });
  process.exitCode = await new Promise((resolve, reject) => {
    const program = join(root, "test", "support", "console", "take-screenshots.ts");
    const child = spawn(process.execPath, ["--import", "tsx", program], { cwd: root, stdio: "inherit" });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
