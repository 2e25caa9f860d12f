import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { statePath } from "./setup/paths.mjs";
import { prepare } from "./setup/prepare.mjs";
import { createProgress } from "./setup/progress.mjs";
import { printFailure, SetupError } from "./setup/setup-error.mjs";
import { createApiKey } from "./start/api-key.mjs";
import { runDemo } from "./start/demo.mjs";
import { choosePort, refuseSecondService, startService } from "./start/service.mjs";

const usage = `Usage: npm start -- [--once] [--port N] [--data-dir DIR]

Sets this machine up, starts Bailiff with a private Redis, and runs a few commands through it.

  --once          end after these commands; the status is not 0 when an answer differs from what it must be
  --port N        listen on 127.0.0.1:N (8080, or a free port where that one is taken)
  --data-dir DIR  where Bailiff keeps its files (.bailiff/data)
`;

const tenant = "demo";

try {
  process.exitCode = await start();
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}

async function start() {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const interrupted = new Promise((resolve) => {
    process.once("SIGINT", () => resolve("interrupted"));
    process.once("SIGTERM", () => resolve("interrupted"));
  });
  const progress = createProgress();
  await refuseSecondService(options.dataDirectory);
  const environment = await Promise.race([prepare(progress, { build: true }), interrupted]);
  if (environment === "interrupted") return endInterrupted();
  const port = await choosePort(options.port);
  const configurationPath = await writeConfiguration(options.dataDirectory, environment, port);
  const apiKey = await createApiKey({ dataDirectory: options.dataDirectory, configurationPath, tenant });
  const service = await progress.step("Bailiff: starting it", "about 2 s", () =>
    startService({ dataDirectory: options.dataDirectory, configurationPath, port }),
  );
  try {
    printWelcome(service, apiKey);
    const print = (text) => process.stdout.write(text);
    const demo = await Promise.race([
      runDemo({
        url: service.url,
        apiKey,
        tenant,
        workspacesRoot: join(options.dataDirectory, "workspaces"),
        print,
      }),
      interrupted,
      service.ended.then((how) => {
        throw new SetupError(`Bailiff ended during the demo: ${how.reason}`, `See ${service.logPath}`);
      }),
    ]);
    if (demo === "interrupted") return 130;
    print(
      demo.length === 0
        ? "\nEvery answer is what it must be.\n"
        : `\n${demo.length} answers differ from what they must be:\n${demo.map((what) => `  ✗ ${what}\n`).join("")}`,
    );
    if (options.once) return demo.length === 0 ? 0 : 1;
    print(`\nBailiff stays up at ${service.url}. Ctrl-C stops it.\n`);
    const how = await Promise.race([interrupted, service.ended]);
    if (how !== "interrupted") {
      throw new SetupError(`Bailiff ended by itself: ${how.reason}`, `See ${service.logPath}`);
    }
    return 0;
  } finally {
    process.stdout.write("\nStopping Bailiff …\n");
    const how = await service.stop();
    process.stdout.write(
      how.code === 0 ? "Stopped.\n" : `It ended with ${how.reason}; see ${service.logPath}\n`,
    );
  }
}

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        once: { type: "boolean", default: false },
        port: { type: "string" },
        "data-dir": { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }));
  } catch (error) {
    throw new SetupError(error.message, usage);
  }
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535)) {
    throw new SetupError(`--port must be a whole number from 1 to 65535, not ${values.port}`, usage);
  }
  return {
    once: values.once,
    help: values.help,
    port,
    dataDirectory: values["data-dir"] === undefined ? statePath("data") : resolve(values["data-dir"]),
  };
}

/** The service's configuration file: what set-up found on this machine. JSON is YAML too. */
async function writeConfiguration(dataDirectory, environment, port) {
  await mkdir(join(dataDirectory, "workspaces"), { recursive: true });
  const path = join(dataDirectory, "config.yaml");
  const uid = process.getuid?.() ?? 0;
  const configuration = {
    // Marks this service's containers, so that one of another checkout on the same engine never takes them for its own.
    deployment: `local-${createHash("sha256").update(dataDirectory).digest("hex").slice(0, 12)}`,
    data_dir: dataDirectory,
    init_path: environment.initPath,
    server: { port },
    docker: { host: environment.dockerHost },
    images: { default: environment.sandboxImageId },
    // Only root can give a directory away; anyone else's workspaces are their own.
    ...(uid === 0 ? {} : { workspaces: { runner_uid: uid, runner_gid: process.getgid() } }),
  };
  await writeFile(path, `${JSON.stringify(configuration, null, 2)}\n`);
  return path;
}

function printWelcome(service, apiKey) {
  process.stdout.write(`
Bailiff is ready.

  URL      ${service.url}
  API key  ${apiKey}
  Docs     ${service.url}/docs
  Log      ${service.logPath}
`);
}

function endInterrupted() {
  process.stderr.write("\nInterrupted during set-up.\n");
  process.exit(130);
}
