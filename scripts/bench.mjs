import { spawn } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./setup/paths.mjs";
import { prepare } from "./setup/prepare.mjs";
import { createProgress } from "./setup/progress.mjs";
import { printFailure, SetupError } from "./setup/setup-error.mjs";

const usage = `Usage: npm run bench -- [--only NAME]... [--quick | --full] [--minutes N]

Sets this machine up, measures Bailiff beside what it could be compared with, prints one table and writes it to
bench/results/ as JSON. docs/performance.md says what the rows mean.

  --only NAME  only this benchmark; may be repeated: single, pieces, throughput, flood, fairness, policy, queue, scaling,
               routing, runtimes; and, only when named: soak (5,000 commands, at most 40 minutes), profile (draws
               the flame graph of the documentation)
  --quick      fewer samples, for a first look (about four minutes)
  --minutes N  the longest that soak submits commands (40 when not given)
  --full       also the largest queue (100,000 commands)
`;

try {
  process.exitCode = await bench(process.argv.slice(2));
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}

async function bench(args) {
  if (readOptions(args).help) {
    process.stdout.write(usage);
    return 0;
  }
  await prepare(createProgress(), { build: true });
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", "tsx", join(root, "bench", "bench.ts"), ...args], {
      cwd: root,
      stdio: "inherit",
    });
    // The terminal tells both of its Ctrl-C; the child cleans up, and only then may this one end.
    process.on("SIGINT", () => {});
    process.on("SIGTERM", () => child.kill("SIGTERM"));
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

function readOptions(args) {
  try {
    return parseArgs({
      args,
      options: {
        only: { type: "string", multiple: true },
        quick: { type: "boolean" },
        full: { type: "boolean" },
        minutes: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    throw new SetupError(error.message, usage);
  }
}
