import { generateKeyPairSync } from "node:crypto";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuditCommands } from "../../../src/cli/audit-commands.js";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { writeEvidenceLine } from "../../../src/domain/evidence/evidence-line.js";
import { evidenceOf } from "../../../src/domain/evidence/evidence-of.js";
import { chainRecord, EMPTY_CHAIN } from "../../../src/domain/evidence/evidence-record.js";
import { createCliWorld } from "../../support/cli-world.js";
import { FULL_TERMS, finishedCommand, sealOf, signingKeys } from "../../support/evidence.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const { privateKey, publicKey } = signingKeys();
let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
let path: string;
let keyPath: string;
let text: string;

const run = async (...args: string[]) => {
  const world = createCliWorld();
  const commands = createAuditCommands({ fetch, publicKey: async () => "the key\n" });
  const status = await runCommandLine({
    commands,
    version: "0",
    args: ["audit", ...args],
    world,
  });
  return { status, stdout: world.out(), stderr: world.err() };
};

beforeAll(async () => {
  scratch = await createScratchDirectory();
  path = join(scratch.path, "acme.jsonl");
  keyPath = join(scratch.path, "evidence.pub");
  await writeFile(keyPath, publicKey.export({ type: "spki", format: "pem" }));
  const command = finishedCommand("acme");
  // Line separators of Unicode are no ends of lines here, and U+FFFD is a character like others.
  const record = {
    ...command,
    request: { ...command.request, argv: ["echo", "a\u2028b\u2029c\u0085\ufffd"] },
  };
  const event = { kind: "finished" as const, atMs: 1_800_000_000_000, record, approval: null };
  const chained = chainRecord(EMPTY_CHAIN, evidenceOf(event, FULL_TERMS));
  text = `${writeEvidenceLine(chained)}\n${writeEvidenceLine(sealOf(privateKey, chained))}\n`;
  await writeFile(path, text);
});
afterAll(() => scratch.remove());

describe("bailiff audit verify", () => {
  it("takes a file with any characters in it", async () => {
    const { status, stdout } = await run("verify", path, "--public-key", keyPath, "--sealed");
    expect([status, stdout]).toEqual([
      0,
      "intact: 1 records (1 to 1), 1 checkpoints, 0 records behind the last one\n",
    ]);
  });

  it("finds a byte that was made invalid", async () => {
    const changed = join(scratch.path, "changed.jsonl");
    const bytes = Buffer.from(text);
    bytes[bytes.indexOf(Buffer.from("\ufffd")) + 1] = 0xff;
    await writeFile(changed, bytes);
    expect(await run("verify", changed, "--public-key", keyPath)).toMatchObject({ status: 3 });
  });

  it("says when the last records are not signed", async () => {
    const unsealed = join(scratch.path, "unsealed.jsonl");
    await writeFile(unsealed, text.split("\n")[0] ?? "");
    expect((await run("verify", unsealed, "--public-key", keyPath)).status).toBe(0);
    expect((await run("verify", unsealed, "--public-key", keyPath, "--sealed")).status).toBe(4);
  });

  it("refuses a private key, a key of another kind and a file that is not there", async () => {
    const bad = join(scratch.path, "bad.pem");
    await writeFile(bad, privateKey.export({ type: "pkcs8", format: "pem" }));
    expect((await run("verify", path, "--public-key", bad)).status).toBe(2);
    const { publicKey: rsa } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await writeFile(bad, rsa.export({ type: "spki", format: "pem" }));
    await appendFile(bad, "\n");
    expect((await run("verify", path, "--public-key", bad)).status).toBe(2);
    expect((await run("verify", `${path}.missing`, "--public-key", keyPath)).status).toBe(1);
  });
});
