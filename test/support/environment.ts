import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What set-up found or made on this machine, for tests that use the real parts. */
export interface TestEnvironment {
  /** Path of the engine's Unix socket. */
  readonly dockerSocket: string;
  /** Tag of the locally built sandbox image. */
  readonly sandboxImage: string;
  /** The same image's id, `sha256:…`, as a profile pins it. */
  readonly sandboxImageId: string;
  /** Absolute path of the built bailiff-init. */
  readonly initPath: string;
  readonly redisServerPath: string;
}

const recordPath = fileURLToPath(new URL("../../.bailiff/environment.json", import.meta.url));

/**
 * Reads the record that set-up leaves behind.
 * @throws Error that says how to make it, when there is none.
 */
export function readTestEnvironment(): TestEnvironment {
  let record: Record<string, string | undefined>;
  try {
    record = JSON.parse(readFileSync(recordPath, "utf8"));
  } catch (cause) {
    throw new Error("Set-up has not been done here: 'npm test' does it, 'npm run setup' does only it", {
      cause,
    });
  }
  const dockerHost = required(record, "dockerHost");
  if (!dockerHost.startsWith("unix://")) {
    throw new Error(`The tests need an engine on a Unix socket, but it is at ${dockerHost}`);
  }
  return {
    dockerSocket: dockerHost.slice("unix://".length),
    sandboxImage: required(record, "sandboxImage"),
    sandboxImageId: required(record, "sandboxImageId"),
    initPath: required(record, "initPath"),
    redisServerPath: required(record, "redisServerPath"),
  };
}

function required(record: Record<string, string | undefined>, key: string): string {
  const value = record[key];
  if (typeof value !== "string" || value === "") throw new Error(`${recordPath} lacks ${key}`);
  return value;
}
