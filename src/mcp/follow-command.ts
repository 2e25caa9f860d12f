import { progressMessage } from "./command-report.js";
import type { ToolBackend, ToolCommand } from "./tool-backend.js";

/** One call of a tool, as far as waiting goes. */
export interface ToolCall {
  /** Aborted when nobody hears the answer any more, or the service ends: ends the wait, never the command. */
  readonly signal: AbortSignal;
  /** Tells the client that the call goes on; null where it did not ask to be told. */
  readonly progress: ((message: string, elapsedS: number) => void) | null;
}

/** Below the 60 s after which common clients give up on a call that they hear nothing of. */
const QUIET_LIMIT_MS = 50_000;
/** Longer than approvals take to expire and commands to end, unless a service is configured otherwise. */
const TOLD_LIMIT_MS = 20 * 60_000;
/** Seconds between two signs of life; the first one is early, as it says whether a person has to decide. */
const FIRST_WAIT_S = 1;
const WAIT_S = 5;
const QUIET_WAIT_S = 25;

/** Waits for a command's end, as long as the caller can be expected to hear the answer. */
export async function followCommand(
  deps: { readonly backend: ToolBackend; readonly nowMs: () => number },
  admitted: ToolCommand,
  call: ToolCall,
): Promise<ToolCommand> {
  const startMs = deps.nowMs();
  const untilMs = startMs + (call.progress === null ? QUIET_LIMIT_MS : TOLD_LIMIT_MS);
  let command = admitted;
  for (let round = 0; command.state !== "finished" && !call.signal.aborted; round += 1) {
    const nowMs = deps.nowMs();
    if (nowMs >= untilMs) break;
    // Most commands end within the first wait: those need no word.
    if (round > 0 || command.state === "awaiting_approval") {
      call.progress?.(progressMessage(command), Math.round((nowMs - startMs) / 1000));
    }
    const waitS = call.progress === null ? QUIET_WAIT_S : round === 0 ? FIRST_WAIT_S : WAIT_S;
    command = await deps.backend.get(
      command.command_id,
      Math.min(waitS, Math.ceil((untilMs - nowMs) / 1000)),
      call.signal,
    );
  }
  return command;
}
