import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../config/config.js";
import { loadConfig } from "../config/load-config.js";

/** The configuration of this process: the file, where one is named, and the environment over it. Throws with every problem. */
export function readConfig(configPath: string | null): Config {
  return loadConfig({
    env: process.env,
    fileText: configPath === null ? null : readFileSync(resolve(configPath), "utf8"),
    fileName: configPath ?? "the environment",
    readSecret: (path) => readFileSync(path, "utf8").trimEnd(),
  });
}
