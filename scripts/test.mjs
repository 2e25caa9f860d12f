import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { root, statePath } from "./setup/paths.mjs";
import { prepare } from "./setup/prepare.mjs";
import { createProgress } from "./setup/progress.mjs";
import { printFailure } from "./setup/setup-error.mjs";

const reportPath = statePath("test-report.json");

try {
  const progress = createProgress();
  await prepare(progress, { build: true });
  process.exitCode = await runTests(process.argv.slice(2));
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}

/** Runs vitest with the caller's arguments and closes with one line that counts every test. */
async function runTests(passedOn) {
  await rm(reportPath, { force: true });
  const code = await new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        join(root, "node_modules", "vitest", "vitest.mjs"),
        "run",
        "--reporter=default",
        "--reporter=json",
        `--outputFile.json=${reportPath}`,
        ...passedOn,
      ],
      { cwd: root, stdio: "inherit" },
    );
    child.on("error", reject);
    child.on("close", resolve);
  });
  const report = await readFile(reportPath, "utf8").then(JSON.parse, () => undefined);
  if (!report) {
    process.stderr.write("\nvitest ended without a report\n");
    return code || 1;
  }
  const skipped = report.numPendingTests + report.numTodoTests;
  // A file that could not be loaded ran no test, and is a failure all the same.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  for (const file of brokenFiles) process.stdout.write(`\nnot loaded: ${file.name}\n`);
  const failed = report.numFailedTests + brokenFiles.length;
  process.stdout.write(
    `\n${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`,
  );
  if (code !== 0) return code ?? 1;
  return failed > 0 || report.numPassedTests === 0 ? 1 : 0;
}
