import type { ToolRefusal } from "./tool-backend.js";
import type { NextStep } from "./tool-result.js";

/** What a refusal means to an agent. */
export interface RefusalVerdict {
  readonly message: string;
  readonly next_step: NextStep;
  /** Whether the call may have done something all the same. */
  readonly effect: "none" | "unknown";
}

/** How every final refusal ends: no way round is named, and trying one is ruled out. */
export const FINAL =
  "Nothing ran. This is final: do not send it again, and do not try to get the same effect in another way. " +
  "Go on without it, or tell the person you work for.";

/** Said of every command whose end proves nothing. */
export const UNKNOWN_EFFECT =
  "What it does may or may not have happened, wholly or in part. Inspect the state before doing anything else; do not repeat the command.";

const sentence = (text: string) => `${text.replace(/[.\s]+$/, "")}.`;

/** The words for a refusal. A code that is not known here is final: an agent must not experiment. */
export function refusalVerdict(refusal: ToolRefusal): RefusalVerdict {
  const reason = refusal.message;
  const none = (message: string, next_step: NextStep): RefusalVerdict => ({
    message,
    next_step,
    effect: "none",
  });
  switch (refusal.code) {
    case "invalid_request": {
      const faults = refusal.faults.map(({ path, message }) => `${path || "the call"}: ${message}`);
      const what = faults.length > 0 ? faults.join("; ") : reason;
      return none(`The call is not valid, and nothing ran. ${sentence(what)}`, "correct");
    }
    case "payload_too_large":
      return none(`The call is too large, and nothing ran. ${sentence(reason)}`, "correct");
    case "denied": {
      const layer = refusal.decision?.layers.find(({ verdict }) => verdict === "deny");
      return none(`Denied: ${sentence(layer?.reason ?? reason)} ${FINAL}`, "stop");
    }
    case "quota_exceeded":
    case "rate_limited":
    case "overloaded":
    case "not_ready":
    case "shutting_down": {
      const wait = refusal.retryAfterS === null ? "" : ` There may be room in ${refusal.retryAfterS} s.`;
      return none(
        `There is no room for it now, and nothing ran. ${sentence(reason)}${wait} Wait before you send it again.`,
        "later",
      );
    }
    case "internal":
    case "store_unavailable":
    case "unreachable":
      return {
        message:
          `Bailiff could not answer: whether the call was taken is not known. ${UNKNOWN_EFFECT} ` +
          "await_command without a command_id tells which command of this session was taken last.",
        next_step: "inspect",
        effect: "unknown",
      };
    default:
      return none(`Refused: ${sentence(reason)} ${FINAL}`, "stop");
  }
}
