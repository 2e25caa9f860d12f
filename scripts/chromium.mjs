import { ensureChromium } from "./setup/chromium.mjs";
import { withSetupLock } from "./setup/lock.mjs";
import { createProgress } from "./setup/progress.mjs";
import { printFailure } from "./setup/setup-error.mjs";

/** Prints the path of a Chromium, which is installed first where there is none. */
try {
  const progress = createProgress();
  const path = await withSetupLock(progress, () => ensureChromium(progress));
  process.stdout.write(`${path}\n`);
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
