import type { ConfigProblem } from "./config-error.js";
import { type ConfigField, configFields } from "./config-fields.js";

/** Variables with our prefix that are not configuration: the command line's own. */
const COMMAND_LINE_VARIABLES: ReadonlySet<string> = new Set([
  "BAILIFF_CONFIG",
  "BAILIFF_URL",
  "BAILIFF_API_KEY",
  "BAILIFF_API_KEY_FILE",
]);

/** The conventional name, taken as `BAILIFF_REDIS_URL` is. */
const ALIASES: Readonly<Record<string, string>> = { REDIS_URL: "BAILIFF_REDIS_URL" };

/** One value from the environment, and the variable it came from. */
export interface Override {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly variable: string;
}

type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

const NUMBER = /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$/;
const WHOLE = /^(?:0|-?[1-9][0-9]{0,15})$/;

function parse(field: ConfigField, text: string): Parsed {
  if (text === "") {
    return field.nullable ? { ok: true, value: null } : { ok: false, message: "must not be empty" };
  }
  switch (field.form) {
    case "whole":
      return WHOLE.test(text)
        ? { ok: true, value: Number(text) }
        : { ok: false, message: "must be a whole number in decimal digits" };
    case "number":
      return NUMBER.test(text)
        ? { ok: true, value: Number(text) }
        : { ok: false, message: "must be a number in decimal digits" };
    case "boolean":
      return text === "true" || text === "false"
        ? { ok: true, value: text === "true" }
        : { ok: false, message: "must be true or false" };
    case "list":
      return { ok: true, value: text.split(",") };
    case "wholes": {
      const parts = text.split(",");
      return parts.every((part) => WHOLE.test(part))
        ? { ok: true, value: parts.map(Number) }
        : { ok: false, message: "must be whole numbers in decimal digits, separated by commas" };
    }
    case "map": {
      const pairs = text.split(",").map((pair) => {
        const at = pair.indexOf("=");
        return at < 1 ? null : ([pair.slice(0, at), pair.slice(at + 1)] as const);
      });
      const whole = pairs.filter((pair) => pair !== null);
      return whole.length === pairs.length
        ? { ok: true, value: Object.fromEntries(whole) }
        : { ok: false, message: "must be name=value pairs separated by commas" };
    }
    case "text":
      return { ok: true, value: text };
    case null:
      return { ok: false, message: "can only be set in a file" };
  }
}

/**
 * What the environment says about the configuration. Unknown variables with our prefix are problems, so that a
 * misspelt bound never silently stays at its default.
 */
export function environmentOverrides(
  env: Readonly<Record<string, string | undefined>>,
  readSecret: (path: string) => string,
): { overrides: readonly Override[]; problems: readonly ConfigProblem[] } {
  const byVariable = new Map(configFields().map((field) => [field.variable, field]));
  const overrides: Override[] = [];
  const problems: ConfigProblem[] = [];
  const setBy = new Map<ConfigField, { variable: string; text: string }>();

  const take = (field: ConfigField, variable: string, text: string) => {
    const earlier = setBy.get(field);
    if (earlier) {
      if (earlier.text !== text) {
        problems.push({ field: variable, message: `contradicts ${earlier.variable}; set only one` });
      }
      return;
    }
    setBy.set(field, { variable, text });
    const parsed = parse(field, text);
    if (parsed.ok) overrides.push({ path: field.path, value: parsed.value, variable });
    else problems.push({ field: variable, message: parsed.message });
  };

  for (const [variable, text] of Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (text === undefined || COMMAND_LINE_VARIABLES.has(variable)) continue;
    const canonical = ALIASES[variable] ?? variable;
    if (!canonical.startsWith("BAILIFF_")) continue;
    const field = byVariable.get(canonical);
    if (field) {
      take(field, variable, text);
      continue;
    }
    const held = variable.endsWith("_FILE") ? byVariable.get(variable.slice(0, -"_FILE".length)) : undefined;
    if (held?.secret !== true) {
      problems.push({ field: variable, message: "is not a known variable" });
      continue;
    }
    try {
      take(held, variable, readSecret(text).replace(/\r?\n$/, ""));
    } catch {
      problems.push({ field: variable, message: "names a file that can't be read" });
    }
  }
  return { overrides, problems };
}
