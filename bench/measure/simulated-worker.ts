import { runProcess } from "../../src/main/processes.js";
import { readConfig } from "../../src/main/read-config.js";
import { createSimulatedRuntime } from "./simulated-runtime.js";

/** A whole worker process whose containers are simulated. Arguments: configuration file, milliseconds of one container. */
const [configPath = "", containerMs = ""] = process.argv.slice(2);

process.exitCode = await runProcess("worker", readConfig(configPath), {
  runtime: (real) => ({ ...createSimulatedRuntime(Number(containerMs)), close: real.close }),
});
