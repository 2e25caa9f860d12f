import { chmod, mkdtemp, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApiKey } from "../../../../src/adapters/auth/api-key.js";
import { createApiKeys } from "../../../../src/adapters/auth/api-keys.js";
import { addKey, disableKey, KeysFileFault, readKeysFile } from "../../../../src/adapters/auth/keys-file.js";
import { formatId } from "../../../../src/domain/ids.js";
import { createCapturedLog } from "../../../support/captured-log.js";

const NOW = Date.UTC(2030, 0, 1);
let directory: string;
let path: string;
let count = 0;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bailiff-keys-"));
  path = join(directory, "keys.yaml");
});
afterEach(() => rm(directory, { recursive: true }));

function key(more: Partial<Parameters<typeof createApiKey>[0]> = {}) {
  count += 1;
  const id = formatId(
    "key",
    NOW,
    Uint8Array.from({ length: 10 }, () => count % 256),
  );
  return createApiKey({
    id,
    tenant: "acme",
    principal: "alice",
    scopes: ["commands:write"],
    nowMs: NOW,
    expiresAtMs: null,
    ...more,
  });
}

async function following(nowMs = NOW) {
  const log = createCapturedLog();
  const clock = { at: nowMs, nowMs: () => clock.at };
  return { keys: await createApiKeys({ path, clock, log }), log, clock };
}

describe("an API key", () => {
  it("names its id and carries 256 random bits; the record holds only a hash", () => {
    const { text, record } = key();
    expect(text).toMatch(/^blf_key_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$/);
    expect(text).toContain(record.id);
    expect(JSON.stringify(record)).not.toContain(text.slice(-43));
    expect(record.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it("is its tenant's principal with its scopes", async () => {
    const { text, record } = key({ scopes: ["commands:write", "commands:read", "commands:write"] });
    await addKey(path, record);
    const { keys } = await following();
    expect(await keys.authenticate(text)).toEqual({
      id: "alice",
      tenant: "acme",
      scopes: new Set(["commands:write", "commands:read"]),
      method: "api_key",
    });
  });

  it("is refused after any change of its text", async () => {
    const mine = key();
    await addKey(path, mine.record);
    await addKey(path, key({ tenant: "other" }).record);
    const { keys } = await following();
    const mutated = fc.oneof(
      fc
        .tuple(fc.nat(mine.text.length - 1), fc.string({ minLength: 1, maxLength: 1 }))
        .map(([at, unit]) => mine.text.slice(0, at) + unit + mine.text.slice(at + 1)),
      fc.nat(mine.text.length).map((at) => mine.text.slice(0, at)),
      fc.string({ minLength: 1 }).map((tail) => mine.text + tail),
      fc.string({ minLength: 1 }).map((head) => head + mine.text),
      fc.constant(mine.text.toUpperCase()),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(mutated, async (text) => {
        fc.pre(text !== mine.text);
        expect(await keys.authenticate(text)).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it("of an unknown id is refused, also with the secret of a known one", async () => {
    const [mine, other] = [key(), key()];
    await addKey(path, mine.record);
    const { keys } = await following();
    expect(await keys.authenticate(other.text)).toBeNull();
    expect(await keys.authenticate(mine.text.replace(mine.record.id, other.record.id))).toBeNull();
  });

  it("is valid until just before it expires, and then no more", async () => {
    const { text, record } = key({ expiresAtMs: NOW + 1000 });
    await addKey(path, record);
    const { keys, clock } = await following();
    clock.at = NOW + 999;
    expect(await keys.authenticate(text)).not.toBeNull();
    clock.at = NOW + 1000;
    expect(await keys.authenticate(text)).toBeNull();
  });
});

describe("the keys file", () => {
  it("is followed: a new key works and a disabled one stops with the next request", async () => {
    const [first, second] = [key(), key({ principal: "bob" })];
    await addKey(path, first.record);
    const { keys } = await following();
    await addKey(path, second.record);
    expect((await keys.authenticate(second.text))?.id).toBe("bob");
    expect(await disableKey(path, first.record.id)).toBe(true);
    expect(await keys.authenticate(first.text)).toBeNull();
    expect(await keys.authenticate(second.text)).not.toBeNull();
  });

  it.each([
    ["is not YAML", "keys: ["],
    ["has an unknown field", "version: 1\nkeys: []\nmore: 1\n"],
    ["has an unknown scope", null],
    ["is empty", ""],
  ])("that %s leaves the old keys in force and is reported", async (_, text) => {
    const { text: keyText, record } = key();
    await addKey(path, record);
    const { keys, log } = await following();
    const bad = text ?? (await readFile(path, "utf8")).replace("commands:write", "commands:everything");
    await writeFile(path, bad);
    expect(await keys.authenticate(keyText)).not.toBeNull();
    expect(keys.problem()).toMatch(/^the keys file is not valid/);
    await keys.authenticate(keyText);
    expect(log.lines.filter((line) => line.level === "error")).toHaveLength(1);
    await writeFile(path, "version: 1\nkeys: []\n");
    expect(await keys.authenticate(keyText)).toBeNull();
    expect(keys.problem()).toBeNull();
  });

  it("that is gone leaves the old keys in force and is reported", async () => {
    const { text, record } = key();
    await addKey(path, record);
    const { keys } = await following();
    await rm(path);
    expect(await keys.authenticate(text)).not.toBeNull();
    expect(keys.problem()).toBe("the keys file can't be read");
  });

  it("that others may write is refused", async () => {
    await addKey(path, key().record);
    await chmod(path, 0o622);
    await expect(following()).rejects.toThrow(/group or others/);
  });

  it("must be good at the start", async () => {
    await expect(following()).rejects.toThrow();
    await writeFile(path, "keys: x", { mode: 0o600 });
    await expect(following()).rejects.toThrow(KeysFileFault);
  });

  it("holds each id once", async () => {
    const { record } = key();
    await addKey(path, record);
    await expect(addKey(path, record)).rejects.toThrow(KeysFileFault);
    expect(await readKeysFile(path)).toHaveLength(1);
  });

  it("is made for its owner alone, and keeps comments when it changes", async () => {
    await addKey(path, key().record);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await writeFile(path, `# rotate in May\n${await readFile(path, "utf8")}`);
    await addKey(path, key().record);
    expect(await readFile(path, "utf8")).toMatch(/^# rotate in May\n/);
    expect(await readKeysFile(path)).toHaveLength(2);
  });

  it("may be JSON", async () => {
    const { text, record } = key();
    await writeFile(path, JSON.stringify({ version: 1, keys: [record] }), { mode: 0o600 });
    const { keys } = await following();
    expect(await keys.authenticate(text)).not.toBeNull();
  });

  it("takes one change at a time and loses none", async () => {
    const records = Array.from({ length: 8 }, () => key().record);
    const answers = await Promise.allSettled(records.map((record) => addKey(path, record)));
    const added = records.filter((_, i) => answers[i]?.status === "fulfilled").map(({ id }) => id);
    expect(added.length).toBeGreaterThan(0);
    expect((await readKeysFile(path)).map(({ id }) => id).sort()).toEqual(added.sort());
    for (const answer of answers) {
      if (answer.status === "rejected") expect(answer.reason).toBeInstanceOf(KeysFileFault);
    }
  });

  it("that keeps its size and time is still read again after a replacement", async () => {
    const { text, record } = key();
    await addKey(path, record);
    const { keys } = await following();
    const before = await stat(path);
    await writeFile(path, (await readFile(path, "utf8")).replace("disabled: false", "disabled: true "));
    await utimes(path, before.atime, before.mtime);
    expect(await keys.authenticate(text)).toBeNull();
  });

  it("puts no key text and no hash in the log", async () => {
    const { text, record } = key();
    await addKey(path, record);
    const { keys, log } = await following();
    await addKey(path, key().record);
    await keys.authenticate(text);
    await writeFile(path, `keys: ${record.sha256}`);
    await keys.authenticate(text);
    const shown = JSON.stringify(log.lines) + keys.problem();
    expect(log.lines.length).toBeGreaterThan(1);
    expect(shown).not.toContain(text.slice(-43));
    expect(shown).not.toContain(record.sha256);
  });
});
