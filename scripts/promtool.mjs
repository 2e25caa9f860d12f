import { withSetupLock } from "./setup/lock.mjs";
import { createProgress } from "./setup/progress.mjs";
import { ensurePromtool } from "./setup/promtool.mjs";
import { printFailure } from "./setup/setup-error.mjs";

/** Prints the path of promtool, which is fetched first where there is none. */
try {
  const progress = createProgress();
  const path = await withSetupLock(progress, () => ensurePromtool(progress));
  process.stdout.write(`${path}\n`);
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
