import { type DestinationStream, type Logger, pino } from "pino";
import type { Log } from "../../ports/telemetry.js";

/** What must never be written, wherever a careless field brings it in. */
const SECRET_KEYS = [
  "authorization",
  "cookie",
  "set-cookie",
  "bearer",
  "token",
  "password",
  "secret",
  "apiKey",
  "api_key",
  "key_text",
  "fence",
];

/** What a command says and is told; only for debugging. */
const COMMAND_KEYS = ["argv", "stdout", "stderr", "output", "environment", "env"];

const DEPTH = 4;
const REDACTED = "[redacted]";

function describeError(error: Error, depth = 0): Record<string, unknown> {
  const code = (error as { code?: unknown }).code;
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === "string" ? { code } : {}),
    stack: error.stack,
    ...(depth < DEPTH && error.cause instanceof Error
      ? { cause: describeError(error.cause, depth + 1) }
      : {}),
  };
}

function withoutKeys(value: unknown, hidden: ReadonlySet<string>, depth: number): unknown {
  if (value instanceof Error) return describeError(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if (depth === 0) return "[deeper]";
  if (Array.isArray(value)) return value.map((entry) => withoutKeys(entry, hidden, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      hidden.has(key.toLowerCase()) ? REDACTED : withoutKeys(entry, hidden, depth - 1),
    ]),
  );
}

const lowered = (keys: readonly string[]) => new Set(keys.map((key) => key.toLowerCase()));
const AT_DEBUG = lowered(SECRET_KEYS);
const ABOVE_DEBUG = lowered([...SECRET_KEYS, ...COMMAND_KEYS]);

type Fields = Readonly<Record<string, unknown>>;

function shown(fields: Fields, hidden: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      hidden.has(key.toLowerCase()) ? REDACTED : withoutKeys(value, hidden, DEPTH),
    ]),
  );
}

function wrap(logger: Logger): Log {
  return {
    debug: (fields, message) => {
      if (logger.isLevelEnabled("debug")) logger.debug(shown(fields, AT_DEBUG), message);
    },
    info: (fields, message) => {
      if (logger.isLevelEnabled("info")) logger.info(shown(fields, ABOVE_DEBUG), message);
    },
    warn: (fields, message) => {
      if (logger.isLevelEnabled("warn")) logger.warn(shown(fields, ABOVE_DEBUG), message);
    },
    error: (fields, message) => logger.error(shown(fields, ABOVE_DEBUG), message),
    // A child's fields are on lines of every level, so they are held to the strictest.
    child: (fields) => wrap(logger.child(shown(fields, ABOVE_DEBUG))),
  };
}

/**
 * One JSON object a line. Hostile text can't break a line or a terminal: JSON escapes control characters, and the
 * few that it lets through are escaped here. argv and output appear at debug only.
 */
export function createPinoLog(settings: {
  readonly level: "debug" | "info" | "warn" | "error" | "silent";
  readonly base: Fields;
  readonly destination: DestinationStream;
}): Log {
  const logger = pino(
    {
      level: settings.level,
      base: shown(settings.base, ABOVE_DEBUG),
      timestamp: pino.stdTimeFunctions.isoTime,
      // Errors are described above; pino's own serializer would take the description for an error again.
      serializers: { err: (value: unknown) => value },
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => settings.destination.write(escapeInvisible(line)) },
  );
  return wrap(logger);
}

/** C1 controls, bidi marks and other invisible characters: legal in JSON, but able to rewrite what a reader sees. */
const INVISIBLE = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function escapeInvisible(line: string): string {
  return line.replace(INVISIBLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
