#!/usr/bin/env node
import type { CliStream } from "../cli/cli-command.js";
import { runCommandLine } from "../cli/command-line.js";
import { createCommands } from "./cli-commands.js";
import { VERSION } from "./version.js";

/** What a shell says of a program that SIGPIPE ended. */
const BROKEN_PIPE_STATUS = 141;

/** A stream that commands write to. Its reader may leave, as `head` does: that is no fault to tell with a stack. */
const stream = (target: NodeJS.WriteStream, onGone: () => void): CliStream => {
  let isWatched = false;
  return {
    isTerminal: target.isTTY === true,
    write(text) {
      if (!isWatched) target.on("error", onGone);
      isWatched = true;
      target.write(text);
    },
  };
};

process.exitCode = await runCommandLine({
  commands: createCommands(),
  version: VERSION,
  args: process.argv.slice(2),
  world: {
    stdout: stream(process.stdout, () => process.exit(BROKEN_PIPE_STATUS)),
    stderr: stream(process.stderr, () => undefined),
    env: process.env,
    onInterrupt(callback) {
      process.on("SIGINT", callback);
      return () => process.off("SIGINT", callback);
    },
  },
});
