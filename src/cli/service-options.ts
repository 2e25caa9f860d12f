import { readFile } from "node:fs/promises";
import { type BrokerClient, createBrokerClient } from "./broker-client.js";
import { type CliCall, type CliOption, UsageError } from "./cli-command.js";

const DEFAULT_URL = "http://127.0.0.1:8080";

/** Options of every command that works in a session of a running service. */
export const SERVICE_OPTIONS = {
  url: { value: "URL", summary: `The service; else BAILIFF_URL, else ${DEFAULT_URL}.` },
  "key-file": {
    value: "FILE",
    summary: "Holds the API key; else BAILIFF_API_KEY or BAILIFF_API_KEY_FILE.",
  },
  session: { value: "ID", summary: "The session to run in." },
  workspace: {
    value: "NAME",
    summary: "Instead of --session: open one in this workspace, close it after.",
  },
  profile: { value: "NAME", summary: "With --workspace: the image profile." },
} as const satisfies Readonly<Record<string, CliOption>>;

/** The session or the workspace that a call names. Throws UsageError unless it names exactly one. */
export function sessionChoiceOf({ values }: CliCall): {
  readonly session: string | undefined;
  readonly workspace: string | undefined;
} {
  const { session, workspace } = values;
  if ((session === undefined) === (workspace === undefined)) {
    throw new UsageError("needs either --session or --workspace");
  }
  return { session, workspace };
}

/** A client of the service that a call names, with its key. Throws UsageError where either can't be used. */
export async function clientOf(
  call: CliCall,
  fetchOf: typeof fetch,
  more: { readonly attempts?: number } = {},
): Promise<BrokerClient> {
  return createBrokerClient({ url: urlOf(call), key: await keyOf(call), fetch: fetchOf, ...more });
}

/** The service that a call names. Throws UsageError for what is no http(s) URL. */
export function urlOf({ values, world }: CliCall): string {
  const url = values["url"] ?? world.env["BAILIFF_URL"] ?? DEFAULT_URL;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError("--url must be an http(s) URL");
  return url;
}

/** The key that a call names. Throws UsageError where there is none. */
export async function keyOf({ values, world }: CliCall): Promise<string> {
  const file = values["key-file"] ?? world.env["BAILIFF_API_KEY_FILE"];
  const key = values["key-file"] === undefined ? world.env["BAILIFF_API_KEY"] : undefined;
  const text = key ?? (file === undefined ? undefined : await readFile(file, "utf8"));
  if (text === undefined)
    throw new UsageError("a key is needed: --key-file, BAILIFF_API_KEY or BAILIFF_API_KEY_FILE");
  const trimmed = text.trim();
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new UsageError("the key is not one word of ASCII");
  return trimmed;
}
