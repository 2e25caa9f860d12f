import { RuntimeFault } from "../../ports/container-runtime.js";

/** The engine calls that Bailiff makes; the closed set behind fault messages and metric labels. */
export type EngineOperation =
  | "ping"
  | "version"
  | "info"
  | "image_inspect"
  | "network_inspect"
  | "create"
  | "attach"
  | "start"
  | "ready"
  | "inspect"
  | "stats"
  | "kill"
  | "remove"
  | "list";

/** The engine's HTTP status, or null when the failure was not an answer. */
export function engineStatus(error: unknown): number | null {
  if (typeof error !== "object" || error === null || !("statusCode" in error)) return null;
  return typeof error.statusCode === "number" ? error.statusCode : null;
}

/** What a status means, by operation alone: the engine's texts differ by version and may hold a caller's data. */
function faultCode(operation: EngineOperation, status: number | null): RuntimeFault["code"] {
  if (status === null) return "unreachable";
  if (status === 404 && (operation === "create" || operation === "image_inspect")) return "image_missing";
  // The mount is the only part of a create that differs between commands of a profile that passed the probe.
  if (status === 400 && operation === "create") return "mount_refused";
  return "refused";
}

const MEANINGS: Readonly<Record<RuntimeFault["code"], string>> = {
  unreachable: "the engine can't be reached",
  deadline: "the engine did not answer in time",
  image_missing: "the image is not on this engine, and is never pulled for a command",
  mount_refused: "the engine refused the container; most likely it does not see a mount's source",
  refused: "the engine refused",
  not_ready: "the container did not become ready",
};

/** The fault for what an engine call threw; a RuntimeFault passes unchanged. What the engine said is in the cause only. */
export function engineFault(operation: EngineOperation, error: unknown): RuntimeFault {
  if (error instanceof RuntimeFault) return error;
  const status = engineStatus(error);
  const code = faultCode(operation, status);
  const answered = status === null ? "" : ` (status ${status})`;
  return new RuntimeFault(code, operation, `${operation}: ${MEANINGS[code]}${answered}`, error);
}

/** The fault of a call that had no answer by its deadline. */
export function deadlineFault(operation: EngineOperation, deadlineMs: number): RuntimeFault {
  return new RuntimeFault("deadline", operation, `${operation}: ${MEANINGS.deadline} (${deadlineMs} ms)`);
}

/** The fault of a call that its caller gave up. */
export function abandonedFault(operation: EngineOperation): RuntimeFault {
  return new RuntimeFault("not_ready", operation, `${operation}: given up by the caller`);
}
