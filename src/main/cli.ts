#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { loadConfig } from "../config/load-config.js";
import { runProcess } from "./processes.js";

const [role, ...rest] = process.argv.slice(2);
const { values } = parseArgs({
  args: rest,
  options: { config: { type: "string" }, "data-dir": { type: "string" }, port: { type: "string" } },
});
const config = loadConfig({
  env: process.env,
  fileText: values.config === undefined ? null : readFileSync(values.config, "utf8"),
  fileName: values.config ?? "",
  readSecret: (path) => readFileSync(path, "utf8"),
});
process.exitCode = await runProcess(role as "all", config);
