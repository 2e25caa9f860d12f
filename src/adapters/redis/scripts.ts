import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { orUnavailable } from "./store-failure.js";

/** Scripts on one command: they get the shared keys and arguments before their own. */
const COMMAND_SCRIPTS = [
  "admit",
  "claim",
  "give-back",
  "finish",
  "end-unstarted",
  "request-cancel",
  "declare-lost",
  "decide-approval",
  "expire-approval",
] as const;
const OTHER_SCRIPTS = [
  "heartbeat",
  "lead",
  "create-session",
  "set-cwd",
  "revoke-session",
  "put-object",
  "remove-session",
  "rebase-priorities",
  "claim-webhook",
  "settle-webhook",
  "append-evidence",
  "seal-evidence",
  "cut-evidence",
] as const;

/** The name of a script: its file's name without `.lua`. */
export type ScriptName = (typeof COMMAND_SCRIPTS)[number] | (typeof OTHER_SCRIPTS)[number];

/** Runs one script with its keys and arguments. Rejects with StoreUnavailable. */
export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/** Reads the scripts, defines them on the client (sent once, then by hash) and answers how to run them. */
export function defineScripts(redis: Redis): RunScript {
  const shared = readScript("shared");
  const defined = redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const commandName = (name: ScriptName) => `bailiff:${name}`;
  for (const name of COMMAND_SCRIPTS) {
    redis.defineCommand(commandName(name), { lua: `${shared}\n${readScript(name)}` });
  }
  for (const name of OTHER_SCRIPTS) redis.defineCommand(commandName(name), { lua: readScript(name) });
  return (name, keys, args) =>
    orUnavailable(async () => defined[commandName(name)]?.(keys.length, ...keys, ...args));
}

function readScript(name: string): string {
  return readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), "utf8");
}
