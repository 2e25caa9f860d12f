import type { Log } from "../../src/ports/telemetry.js";

/** One line that a part logged. */
export interface CapturedLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A log that keeps its lines for a test to look at. */
export function createCapturedLog(): Log & { readonly lines: CapturedLine[] } {
  const lines: CapturedLine[] = [];
  const at = (base: Readonly<Record<string, unknown>>): Log => {
    const keep =
      (level: CapturedLine["level"]) => (fields: Readonly<Record<string, unknown>>, message: string) => {
        lines.push({ level, fields: { ...base, ...fields }, message });
      };
    return {
      debug: keep("debug"),
      info: keep("info"),
      warn: keep("warn"),
      error: keep("error"),
      child: (fields) => at({ ...base, ...fields }),
    };
  };
  return { ...at({}), lines };
}
