#!/usr/bin/env node
import type { CliStream } from "../cli/cli-command.js";
import { runCommandLine } from "../cli/command-line.js";
import { createCommands } from "./cli-commands.js";
import { VERSION } from "./version.js";

const stream = (target: NodeJS.WriteStream): CliStream => ({
  isTerminal: target.isTTY === true,
  write: (text) => void target.write(text),
});

process.exitCode = await runCommandLine({
  commands: createCommands(),
  version: VERSION,
  args: process.argv.slice(2),
  world: {
    stdout: stream(process.stdout),
    stderr: stream(process.stderr),
    env: process.env,
    onInterrupt(callback) {
      process.on("SIGINT", callback);
      return () => process.off("SIGINT", callback);
    },
  },
});
