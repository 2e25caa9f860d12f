import { findProgram } from "./command.mjs";
import { installPackages } from "./packages.mjs";
import { SetupError } from "./setup-error.mjs";

/** Finds the browser that the console is looked at with, and installs it where there is none. */
export async function ensureChromium(progress) {
  await installPackages(progress, { chromium: "chromium" }, "by the tests of the console");
  const path = await findProgram("chromium");
  if (!path) throw new SetupError("chromium is not installed.", "Install it (Debian package chromium).");
  return path;
}
