import { setTimeout } from "node:timers/promises";
import { createApprovalsCommands } from "../cli/approvals-commands.js";
import { createAuditCommands } from "../cli/audit-commands.js";
import { createAuditTail } from "../cli/audit-tail.js";
import type { CliCommand } from "../cli/cli-command.js";
import { createCommandsCommands } from "../cli/commands-commands.js";
import { createCompletionCommand } from "../cli/completion-command.js";
import { createDoctorCommand } from "../cli/doctor-command.js";
import { createKeysCommands } from "../cli/keys-commands.js";
import { createMcpCommand } from "../cli/mcp-command.js";
import { createPolicyCommands } from "../cli/policy-commands.js";
import { createRunCommand } from "../cli/run-command.js";
import { createServeCommand } from "../cli/serve-command.js";
import { createSessionsCommands } from "../cli/sessions-commands.js";
import { createWorkersCommand } from "../cli/workers-command.js";
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

const pause = (ms: number, signal?: AbortSignal) =>
  setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);

/** Every command of `bailiff`, in the order of its help. */
export function createCommands(): readonly CliCommand[] {
  const commands: readonly CliCommand[] = [
    serve("all", "Run API and worker in one process, with a private Redis unless one is configured."),
    serve("api", "Run the HTTP front end."),
    serve("worker", "Run a worker: take commands from the queue and run them in containers."),
    createRunCommand({
      fetch,
      everySecond(callback) {
        const timer = setInterval(callback, 1_000);
        return () => clearInterval(timer);
      },
    }),
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
    ...createApprovalsCommands({ fetch, pause }),
    createWorkersCommand({ fetch }),
    ...createKeysCommands({ scopes: SCOPES, nowMs: Date.now, open: openKeys }),
    ...createPolicyCommands(createPolicyAccess(Date.now)),
    ...createAuditCommands({ fetch, publicKey: (configPath) => publicKeyOf(readConfig(configPath)) }),
    createAuditTail({ fetch, pause }),
    createDoctorCommand({ checks: doctorChecks, deadlineMs: DOCTOR_DEADLINE_MS }),
    createCompletionCommand(() => commands),
  ];
  return commands;
}
