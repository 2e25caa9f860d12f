import * as fileSystem from "node:fs/promises";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createEvidenceDirectory,
  type EvidenceFileSystem,
} from "../../../src/adapters/evidence-file/evidence-directory.js";
import { createMirrorEvidence } from "../../../src/app/evidence/mirror-evidence.js";
import { createAuditCommands } from "../../../src/cli/audit-commands.js";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { evidenceFilesOf } from "../../../src/domain/evidence/evidence-file-name.js";
import type { EvidenceStore } from "../../../src/ports/evidence-store.js";
import { createCliWorld } from "../../support/cli-world.js";
import { chainOf, sealOf, signingKeys, verifyLines } from "../../support/evidence.js";
import { silentLog, silentMetrics } from "../../support/redis-fixtures.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const { privateKey, publicKey } = signingKeys();
const RECORDS = chainOf("acme", 24);
/** Room for about four records. */
const MAX_FILE_BYTES = 6_000;

let directory: string;
let removeDirectory: () => Promise<void>;
beforeEach(async () => {
  ({ path: directory, remove: removeDirectory } = await createScratchDirectory());
});
afterEach(() => removeDirectory());

/** A store that has the first so many records, and a seal behind every third. */
function storeOf(count: number, records = RECORDS): EvidenceStore {
  const has = records.slice(0, count);
  const seals = has.filter(({ record }) => record.seq % 3 === 0).map((each) => sealOf(privateKey, each));
  return {
    records: async (_tenant: string, from: number, limit: number) =>
      has.filter(({ record }) => record.seq >= from).slice(0, limit),
    seals: async (_tenant: string, from: number, to: number) =>
      seals.filter(({ checkpoint: { seq } }) => seq >= from && seq <= to),
    head: async () => ({ cut: null }),
  } as unknown as EvidenceStore;
}

async function mirrorUpTo(count: number, files?: EvidenceFileSystem, records = RECORDS): Promise<void> {
  const mirror = createEvidenceDirectory(directory, {
    maxFileBytes: MAX_FILE_BYTES,
    ...(files === undefined ? {} : { files }),
  });
  const bring = createMirrorEvidence({
    evidence: storeOf(count, records),
    mirror,
    log: silentLog,
    metrics: silentMetrics,
  });
  try {
    await bring("acme");
  } finally {
    await mirror.close().catch(() => undefined);
  }
}

const names = async () => evidenceFilesOf(await readdir(directory), "acme").map(({ name }) => name);
const wholeText = async () =>
  (await Promise.all((await names()).map((name) => readFile(join(directory, name), "utf8")))).join("");

async function expectWhole(count: number): Promise<void> {
  const lines = (await wholeText()).split("\n").slice(0, -1);
  expect(verifyLines(lines, publicKey, "acme")).toMatchObject({ findings: [], records: count, firstSeq: 1 });
}

class Died extends Error {}

/** The file system of a process that dies at its n-th call: before it is made, or after it and before its answer. */
function dyingAt(step: number, when: "before" | "after") {
  const opened: fileSystem.FileHandle[] = [];
  let calls = 0;
  let isDead = false;
  const guard =
    <T extends unknown[], R>(call: (...given: T) => Promise<R>) =>
    async (...given: T): Promise<R> => {
      if (isDead) throw new Died();
      calls += 1;
      if (calls < step) return call(...given);
      isDead = true;
      if (when === "after") await call(...given);
      throw new Died();
    };
  const guardedHandle = (handle: fileSystem.FileHandle): fileSystem.FileHandle =>
    new Proxy(handle, {
      get(target, name) {
        const member = Reflect.get(target, name) as unknown;
        if (typeof member !== "function") return member;
        if (name === "close") return () => target.close();
        return guard(member.bind(target) as () => Promise<unknown>);
      },
    });
  const open = async (...given: Parameters<typeof fileSystem.open>) => {
    const handle = await fileSystem.open(...given);
    opened.push(handle);
    return handle;
  };
  const files = {
    ...fileSystem,
    mkdir: guard(fileSystem.mkdir),
    readdir: guard(fileSystem.readdir as (path: string) => Promise<string[]>),
    rename: guard(fileSystem.rename),
    stat: guard(fileSystem.stat as (path: string) => Promise<unknown>),
    open: async (...given: Parameters<typeof fileSystem.open>) => guardedHandle(await guard(open)(...given)),
  } as unknown as EvidenceFileSystem;
  return {
    files,
    died: () => isDead,
    /** As the system closes what a dead process held. */
    closeAll: () => Promise.all(opened.map((handle) => handle.close())),
  };
}

describe("evidence files", () => {
  test("are ended before they pass their size, and together are the chain", async () => {
    for (let count = 1; count <= RECORDS.length; count += 1) await mirrorUpTo(count);
    const files = await names();
    expect(files.length).toBeGreaterThan(4);
    expect(files.at(-1)).toBe("acme.jsonl");
    for (const name of files) {
      expect((await readFile(join(directory, name))).length).toBeLessThanOrEqual(MAX_FILE_BYTES);
    }
    await expectWhole(RECORDS.length);
  });

  test("lose and double nothing, whichever step a crash comes at", async () => {
    for (const when of ["before", "after"] as const) {
      for (let step = 1; ; step += 1) {
        await removeDirectory();
        ({ path: directory, remove: removeDirectory } = await createScratchDirectory());
        // Full: the next record begins a new file.
        let full = 1;
        do await mirrorUpTo(full++);
        while ((await wholeText()).length + 1_500 < MAX_FILE_BYTES);
        const { files, died, closeAll } = dyingAt(step, when);
        await mirrorUpTo(full + 2, files).catch((error: unknown) => {
          if (!(error instanceof Died)) throw error;
        });
        await closeAll();
        await mirrorUpTo(full + 3);
        await expectWhole(full + 3);
        if (!died()) {
          expect(step).toBeGreaterThan(10);
          break;
        }
      }
    }
  }, 120_000);

  test("go on behind a line that a crash cut off at the beginning of a new file", async () => {
    for (let count = 1; count <= 12; count += 1) await mirrorUpTo(count);
    const [first = ""] = await names();
    const seq = Number(/\.(\d+)\./.exec(first)?.[1]);
    await removeDirectory();
    ({ path: directory, remove: removeDirectory } = await createScratchDirectory());
    for (let count = 1; count <= seq + 1; count += 1) await mirrorUpTo(count);
    await writeFile(join(directory, "acme.jsonl"), '{"hash":"torn');
    await mirrorUpTo(seq + 4);
    await expectWhole(seq + 4);
  });

  test("are all set aside where they do not go on in a store that lost its records", async () => {
    for (let count = 1; count <= 12; count += 1) await mirrorUpTo(count);
    const before = (await names()).length;
    const other = chainOf("acme", 2);
    await mirrorUpTo(2, undefined, other);
    expect(await names()).toEqual(["acme.jsonl"]);
    await expectWhole(2);
    expect((await readdir(directory)).filter((name) => name.includes("set-aside"))).toHaveLength(before);
  });
});

describe("bailiff audit verify", () => {
  const verify = async (...args: string[]) => {
    const world = createCliWorld();
    const keyPath = join(directory, "evidence.pub");
    await writeFile(keyPath, publicKey.export({ type: "spki", format: "pem" }));
    const commands = createAuditCommands({ fetch, publicKey: async () => "" });
    const status = await runCommandLine({
      commands,
      version: "0",
      args: ["audit", "verify", ...args, "--public-key", keyPath],
      world,
    });
    return { status, out: world.out(), err: world.err() };
  };

  test("takes a directory or its files in order, and says in which file a finding is", async () => {
    for (let count = 1; count <= 12; count += 1) await mirrorUpTo(count);
    const paths = (await names()).map((name) => join(directory, name));
    expect((await verify(directory)).out).toMatch(/^intact: 12 records \(1 to 12\)/);
    expect((await verify(...paths)).status).toBe(0);
    expect((await verify(...paths.slice(1))).out).toContain("start_missing");
    expect((await verify(...paths.toReversed())).status).toBe(3);
    const [, second = ""] = paths;
    await writeFile(
      second,
      (await readFile(second, "utf8")).replace('"principal":"tester"', '"principal":"nobody"'),
    );
    expect((await verify(directory)).out).toContain(`${second} line 1: record_edited`);
    await writeFile(join(directory, "globex.jsonl"), "");
    const several = await verify(directory);
    expect([several.status, several.err.includes("--tenant acme or globex")]).toEqual([2, true]);
    expect((await verify(directory, "--tenant", "nobody")).status).toBe(1);
  });
});
