import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApiKeys } from "../../../src/adapters/auth/api-keys.js";
import { createKeyStore } from "../../../src/adapters/auth/key-store.js";
import { createRandomIdSource } from "../../../src/adapters/system/random-id-source.js";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { createKeysCommands } from "../../../src/cli/keys-commands.js";
import { SCOPES } from "../../../src/ports/authenticator.js";
import { createCapturedLog } from "../../support/captured-log.js";
import { createCliWorld } from "../../support/cli-world.js";

const clock = { at: Date.UTC(2030, 0, 1), nowMs: () => clock.at };
let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bailiff-cli-keys-"));
  path = join(directory, "keys.yaml");
});
afterEach(() => rm(directory, { recursive: true }));

async function keys(...args: string[]) {
  const world = createCliWorld();
  const commands = createKeysCommands({
    scopes: SCOPES,
    nowMs: clock.nowMs,
    open: async (keysFile) =>
      createKeyStore({ path: keysFile ?? path, clock, ids: createRandomIdSource(clock) }),
  });
  const status = await runCommandLine({ commands, version: "1", args: ["keys", ...args], world });
  return { status, out: world.out(), err: world.err() };
}

describe("bailiff keys", () => {
  it("makes a key that authenticates, shown once and stored only as a hash; revoked, it does no more", async () => {
    const made = await keys(
      "create",
      "--tenant",
      "acme",
      "--principal",
      "alice",
      "--scopes",
      "commands:write,commands:read",
      "--expires-in",
      "30d",
    );
    expect(made.status).toBe(0);
    const text = made.out.trim();
    expect(await readFile(path, "utf8")).not.toContain(text.slice(-43));
    expect(made.err).not.toContain(text.slice(-43));
    const auth = await createApiKeys({ path, clock, log: createCapturedLog() });
    expect(await auth.authenticate(text)).toMatchObject({ id: "alice", tenant: "acme" });

    const listed = await keys("list", "--json");
    const [line] = JSON.parse(listed.out) as { id: string; status: string; expires_at: string }[];
    expect(line).toMatchObject({ status: "active", expires_at: "2030-01-31T00:00:00.000Z" });
    expect(listed.out).not.toMatch(/sha256/);
    expect((await keys("list")).out).toContain("acme  alice  expires 2030-01-31");

    expect((await keys("revoke", line?.id ?? "")).status).toBe(0);
    expect(await auth.authenticate(text)).toBeNull();
    expect((await keys("list")).out).toContain("disabled");
  });

  it("lists nothing and revokes nothing where there is no file", async () => {
    expect(await keys("list", "--json")).toMatchObject({ status: 0, out: "[]\n" });
    expect((await keys("revoke", "key_x")).status).toBe(1);
  });

  it.each([
    [["create", "--principal", "a", "--scopes", "admin"], /--tenant is required/],
    [["create", "--tenant", "../x", "--principal", "a", "--scopes", "admin"], /--tenant must be/],
    [["create", "--tenant", "x", "--principal", "a b", "--scopes", "admin"], /--principal must be/],
    [
      ["create", "--tenant", "x", "--principal", "a", "--scopes", "root"],
      /there is no scope "root"; the scopes are workspaces:write/,
    ],
    [
      ["create", "--tenant", "x", "--principal", "a", "--scopes", "admin", "--expires-in", "soon"],
      /not a duration/,
    ],
    [["revoke"], /takes one key id/],
  ] as const)("refuses %j", async (args, text) => {
    const { status, err } = await keys(...args);
    expect(status).toBe(2);
    expect(err).toMatch(text);
  });
});
