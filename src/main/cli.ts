#!/usr/bin/env node
import { createApprovalsCommands } from "../cli/approvals-commands.js";
import { createAuditCommands } from "../cli/audit-commands.js";
import type { CliCommand, CliStream } from "../cli/cli-command.js";
import { runCommandLine } from "../cli/command-line.js";
import { createCommandsCommands } from "../cli/commands-commands.js";
import { createDoctorCommand } from "../cli/doctor-command.js";
import { createKeysCommands } from "../cli/keys-commands.js";
import { createMcpCommand } from "../cli/mcp-command.js";
import { createPolicyCommands } from "../cli/policy-commands.js";
import { createRunCommand } from "../cli/run-command.js";
import { createServeCommand } from "../cli/serve-command.js";
import { createSessionsCommands } from "../cli/sessions-commands.js";
import { SCOPES } from "../ports/authenticator.js";
import { doctorChecks } from "./doctor-checks.js";
import { publicKeyOf } from "./evidence.js";
import { openKeys } from "./keys-access.js";
import { createPolicyAccess } from "./policy-access.js";
import { type Role, runProcess } from "./processes.js";
import { readConfig } from "./read-config.js";
import { VERSION } from "./version.js";

const DOCTOR_DEADLINE_MS = 30_000;

const serve = (name: Role, summary: string): CliCommand =>
  createServeCommand({ name, summary, start: (configPath) => runProcess(name, readConfig(configPath)) });

const commands: readonly CliCommand[] = [
  serve("all", "Run API and worker in one process, with a private Redis unless one is configured."),
  serve("api", "Run the HTTP front end."),
  serve("worker", "Run a worker: take commands from the queue and run them in containers."),
  createRunCommand({ fetch }),
  createMcpCommand({
    fetch,
    version: VERSION,
    nowMs: Date.now,
    stdin: process.stdin,
    stdout: process.stdout,
    onTerminate(callback) {
      process.on("SIGTERM", callback);
      return () => process.off("SIGTERM", callback);
    },
  }),
  ...createSessionsCommands({ fetch }),
  ...createCommandsCommands({ fetch }),
  ...createApprovalsCommands({
    fetch,
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }),
  ...createKeysCommands({ scopes: SCOPES, nowMs: Date.now, open: openKeys }),
  ...createPolicyCommands(createPolicyAccess(Date.now)),
  ...createAuditCommands({ fetch, publicKey: (configPath) => publicKeyOf(readConfig(configPath)) }),
  createDoctorCommand({ checks: doctorChecks, deadlineMs: DOCTOR_DEADLINE_MS }),
];

const stream = (target: NodeJS.WriteStream): CliStream => ({
  isTerminal: target.isTTY === true,
  write: (text) => void target.write(text),
});

process.exitCode = await runCommandLine({
  commands,
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
