import { isName } from "../domain/ids.js";
import { type CliCall, type CliCommand, UsageError } from "./cli-command.js";
import { parseDurationMs } from "./duration.js";
import { escapeForTerminal } from "./terminal-text.js";

/** One key as a listing shows it. */
export interface KeyLine {
  readonly id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly disabled: boolean;
}

/** The keys file as these commands use it. */
export interface KeysAccess<Scope extends string> {
  create(wanted: {
    readonly tenant: string;
    readonly principal: string;
    readonly scopes: readonly Scope[];
    readonly expiresAtMs: number | null;
  }): Promise<{ id: string; text: string }>;
  list(): Promise<readonly KeyLine[]>;
  revoke(id: string): Promise<boolean>;
}

/** What the keys commands need. */
export interface KeysDeps<Scope extends string> {
  readonly scopes: readonly Scope[];
  readonly nowMs: () => number;
  /** Opens the given keys file, or the configured one. */
  readonly open: (keysFile: string | null, configPath: string | null) => Promise<KeysAccess<Scope>>;
}

const FILE_OPTIONS = {
  "keys-file": { value: "FILE", summary: "The keys file; else the configured one." },
  config: { value: "FILE", summary: "Configuration file; else BAILIFF_CONFIG." },
} as const;

function required(call: CliCall, name: string): string {
  const value = call.values[name];
  if (value === undefined) throw new UsageError(`--${name} is required`);
  return value;
}

/** `bailiff keys create`, `keys list` and `keys revoke`. */
export function createKeysCommands<Scope extends string>(deps: KeysDeps<Scope>): readonly CliCommand[] {
  const open = ({ values, world }: CliCall) =>
    deps.open(values["keys-file"] ?? null, values["config"] ?? world.env["BAILIFF_CONFIG"] ?? null);

  const scopesOf = (text: string): Scope[] =>
    text.split(",").map((entry) => {
      const scope = deps.scopes.find((known) => known === entry.trim());
      if (scope === undefined) {
        throw new UsageError(
          `there is no scope ${JSON.stringify(entry)}; the scopes are ${deps.scopes.join(", ")}`,
        );
      }
      return scope;
    });

  return [
    {
      name: "keys create",
      summary: "Make an API key and print it once; the file keeps only its hash.",
      operands: null,
      operandsAfterDashes: false,
      options: {
        tenant: { value: "NAME", summary: "The tenant it is for." },
        principal: { value: "NAME", summary: "Who uses it, as evidence shows it." },
        scopes: { value: "A,B", summary: `Of: ${deps.scopes.join(", ")}.` },
        "expires-in": { value: "DURATION", summary: "Like 30d or 12h; without it, it does not expire." },
        json: { value: null, summary: "Print the id and the key as JSON." },
        ...FILE_OPTIONS,
      },
      statuses: [],
      async run(call) {
        const tenant = required(call, "tenant");
        if (!isName(tenant)) throw new UsageError("--tenant must be 1 to 63 of a-z, 0-9, _ and -");
        const principal = required(call, "principal");
        if (!/^[\x21-\x7e]{1,256}$/.test(principal)) {
          throw new UsageError("--principal must be 1 to 256 visible ASCII characters without spaces");
        }
        const scopes = scopesOf(required(call, "scopes"));
        const expiry = call.values["expires-in"];
        const expiresAtMs = expiry === undefined ? null : deps.nowMs() + parseDurationMs(expiry);
        const made = await (await open(call)).create({ tenant, principal, scopes, expiresAtMs });
        const { stdout, stderr } = call.world;
        stdout.write(
          call.switches.has("json")
            ? `${JSON.stringify({ id: made.id, key: made.text })}\n`
            : `${made.text}\n`,
        );
        stderr.write(`bailiff: made ${made.id}; this is the only time the key is shown\n`);
        return 0;
      },
    },
    {
      name: "keys list",
      summary: "List the keys of the file, without anything secret.",
      operands: null,
      operandsAfterDashes: false,
      options: { json: { value: null, summary: "Print JSON." }, ...FILE_OPTIONS },
      statuses: [],
      async run(call) {
        const keys = await (await open(call)).list();
        const lines = keys.map(({ id, tenant, principal, scopes, created_at, expires_at, disabled }) => {
          const expired = expires_at !== null && Date.parse(expires_at) <= deps.nowMs();
          return {
            id,
            tenant,
            principal,
            scopes,
            created_at,
            expires_at,
            status: disabled ? "disabled" : expired ? "expired" : "active",
          };
        });
        if (call.switches.has("json")) call.world.stdout.write(`${JSON.stringify(lines, null, 2)}\n`);
        else {
          for (const { id, status, tenant, principal, scopes, expires_at } of lines) {
            const end = expires_at ?? "never";
            call.world.stdout.write(
              `${escapeForTerminal([id, status, tenant, principal, `expires ${end}`, scopes.join(",")].join("  "))}\n`,
            );
          }
        }
        return 0;
      },
    },
    {
      name: "keys revoke",
      summary: "Disable a key; a running service refuses it from its next request.",
      operands: "KEY_ID",
      operandsAfterDashes: false,
      options: { json: { value: null, summary: "Print JSON." }, ...FILE_OPTIONS },
      statuses: [[1, "The file holds no such key."]],
      async run(call) {
        const [id, ...more] = call.operands;
        if (id === undefined || more.length > 0) throw new UsageError("takes one key id");
        const revoked = await (await open(call)).revoke(id);
        if (call.switches.has("json")) call.world.stdout.write(`${JSON.stringify({ id, revoked })}\n`);
        call.world.stderr.write(
          `bailiff: ${revoked ? "revoked" : "there is no key"} ${escapeForTerminal(id)}\n`,
        );
        return revoked ? 0 : 1;
      },
    },
  ];
}
