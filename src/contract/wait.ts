import { queryIntegerSchema } from "./wire-values.js";

/** The longest wait a request may ask for, in seconds. */
export const MAX_WAIT_S = 60;

/** `?wait=N`. */
export const waitQuerySchema = queryIntegerSchema({
  min: 0,
  max: MAX_WAIT_S,
  description: "Seconds to wait for the end of the command; like `Prefer: wait=N`, which it overrides.",
});

/**
 * The seconds that a `Prefer` header asks to wait (RFC 7240); null where it does not, or where there is no header.
 * Other preferences are ignored, as the RFC wants; a `wait` that is not a whole number in bounds is `invalid`.
 */
export function preferredWait(header: string | undefined): number | null | "invalid" {
  if (header === undefined) return null;
  for (const preference of header.split(",")) {
    const [token = "", ...parameters] = preference.split(";");
    const [name = "", value = ""] = token.split("=", 2).map((part) => part.trim());
    if (name.toLowerCase() !== "wait") continue;
    const digits = /^"?(0|[1-9][0-9]?)"?$/.exec(value)?.[1];
    if (digits === undefined || parameters.length > 0 || Number(digits) > MAX_WAIT_S) return "invalid";
    // Only the first of several counts (RFC 7240, section 2).
    return Number(digits);
  }
  return null;
}
