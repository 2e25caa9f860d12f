import { prepare } from "./setup/prepare.mjs";
import { createProgress } from "./setup/progress.mjs";
import { printFailure } from "./setup/setup-error.mjs";

try {
  await prepare(createProgress());
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
