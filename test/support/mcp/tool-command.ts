import type { ToolBackend, ToolCommand } from "../../../src/mcp/tool-backend.js";
import { ToolRefusal } from "../../../src/mcp/tool-backend.js";

/** A command that ended with returncode 0 and said nothing. */
export function toolCommand(more: Partial<ToolCommand> = {}): ToolCommand {
  return {
    command_id: "cmd_1",
    argv: ["make", "all"],
    cwd: ".",
    timeout_s: 30,
    state: "finished",
    outcome: "completed",
    effect: "completed",
    returncode: 0,
    signal: null,
    detail: null,
    start_failure: null,
    stdout: "",
    stderr: "",
    partial_output: null,
    stdout_bytes: 0,
    stderr_bytes: 0,
    stdout_truncated: false,
    stderr_truncated: false,
    result_omitted: false,
    duration_ms: 12,
    decision: {
      verdict: "allow",
      layers: [],
      policy_version: "v1",
      inner_vectors: [],
      git_hardened: false,
      effective_label: null,
      granted_vector: null,
      bound_files: [],
    },
    approval: null,
    ...more,
  };
}

/** A command that has not ended. */
export function openCommand(state: ToolCommand["state"]): ToolCommand {
  return toolCommand({
    state,
    outcome: null,
    effect: null,
    returncode: null,
    stdout: null,
    stderr: null,
    stdout_bytes: null,
    stderr_bytes: null,
    duration_ms: null,
  });
}

/** A backend that refuses whatever a test does not replace. */
export function refusingBackend(more: Partial<ToolBackend> = {}): ToolBackend {
  const refuse = () => Promise.reject(new ToolRefusal("internal", "not part of this test"));
  return { submit: refuse, get: refuse, newest: refuse, changeDirectory: refuse, explain: refuse, ...more };
}
