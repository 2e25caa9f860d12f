import type { CommandRecord } from "../../domain/command.js";
import { BailiffError } from "../../domain/errors.js";

/** The 403 of a denial, whenever it came: at the submit, or from the stricter check before dispatch. */
export function deniedError(record: CommandRecord): BailiffError {
  const reason =
    record.decision.layers.find((layer) => layer.verdict === "deny")?.reason ??
    record.result?.detail ??
    "denied";
  return new BailiffError("denied", `${reason}. This is final for this request.`, {
    extensions: { command_id: record.id, decision: record.decision },
  });
}
