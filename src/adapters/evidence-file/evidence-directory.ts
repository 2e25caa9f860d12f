import type { FileHandle } from "node:fs/promises";
import * as fileSystem from "node:fs/promises";
import { join } from "node:path";
import type { SignedCheckpoint } from "../../domain/evidence/checkpoint.js";
import {
  type EvidenceFileName,
  earlierName,
  evidenceFilesOf,
} from "../../domain/evidence/evidence-file-name.js";
import { writeEvidenceLine } from "../../domain/evidence/evidence-line.js";
import { type ChainedRecord, EMPTY_CHAIN } from "../../domain/evidence/evidence-record.js";
import { isName } from "../../domain/ids.js";
import type { EvidenceMirror, MirrorTail } from "../../ports/evidence-mirror.js";

const NEWLINE = 0x0a;
const FIRST_WINDOW_BYTES = 1 << 20;
const EMPTY_TAIL: MirrorTail = { ...EMPTY_CHAIN, sealedSeq: 0 };

interface OpenFile {
  readonly handle: FileHandle;
  sizeBytes: number;
  tail: MirrorTail;
  /** The last record of the file before this one; 0 where this is the first. */
  readonly behindSeq: number;
}

/** What a directory of evidence does on the disk; a test lets it die at any step. */
export type EvidenceFileSystem = Pick<
  typeof import("node:fs/promises"),
  "mkdir" | "open" | "readdir" | "rename" | "stat"
>;

/**
 * One append-only `TENANT.jsonl` per tenant. A line counts once its newline is there: what a crash cut off behind the last one
 * is removed, and comes again from the store. A file that another process has written to meanwhile is read again.
 * Before it would pass `maxFileBytes` it is renamed after its last record and a new one goes on with the same chain: the
 * rename is one step, and what follows finds its place from the newest file that has records.
 */
export function createEvidenceDirectory(
  directory: string,
  options: { readonly maxFileBytes: number; readonly files?: EvidenceFileSystem },
): EvidenceMirror {
  const { maxFileBytes, files: fs = fileSystem } = options;
  const files = new Map<string, OpenFile>();

  const pathOf = (tenant: string): string => {
    if (!isName(tenant)) throw new Error("not the name of a tenant");
    return join(directory, `${tenant}.jsonl`);
  };

  /** The files before the current one, oldest first. */
  const earlierFiles = async (tenant: string): Promise<readonly EvidenceFileName[]> =>
    evidenceFilesOf(await fs.readdir(directory), tenant).filter(({ lastSeq }) => lastSeq !== null);

  const syncDirectory = async (): Promise<void> => {
    const handle = await fs.open(directory, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  };

  const tailOfEarlier = async (name: string | undefined): Promise<MirrorTail> => {
    if (name === undefined) return EMPTY_TAIL;
    const handle = await fs.open(join(directory, name), "r");
    try {
      return await readTail(handle, (await handle.stat()).size, EMPTY_TAIL);
    } finally {
      await handle.close();
    }
  };

  const openFile = async (tenant: string): Promise<OpenFile> => {
    await fs.mkdir(directory, { recursive: true, mode: 0o700 });
    const handle = await fs.open(pathOf(tenant), "a+", 0o600);
    try {
      await syncDirectory();
      const sizeBytes = await endOfLastLine(handle);
      const before = await tailOfEarlier((await earlierFiles(tenant)).at(-1)?.name);
      return { handle, sizeBytes, tail: await readTail(handle, sizeBytes, before), behindSeq: before.seq };
    } catch (error) {
      await handle.close();
      throw error;
    }
  };

  const forget = async (tenant: string): Promise<void> => {
    const file = files.get(tenant);
    files.delete(tenant);
    await file?.handle.close();
  };

  const current = async (tenant: string): Promise<OpenFile> => {
    const known = files.get(tenant);
    if (known !== undefined) {
      const [held, named] = await Promise.all([
        known.handle.stat(),
        fs.stat(pathOf(tenant)).catch(() => null),
      ]);
      if (held.size === known.sizeBytes && named?.ino === held.ino) return known;
      await forget(tenant);
    }
    const opened = await openFile(tenant);
    files.set(tenant, opened);
    return opened;
  };

  /** Ends the current file, which has records of its own, and begins the next. */
  const rotate = async (tenant: string, { tail }: OpenFile): Promise<OpenFile> => {
    await forget(tenant);
    const name = earlierName(tenant, tail.seq);
    // SAFETY: a rename replaces what is there, and nothing ever replaces evidence.
    if ((await fs.readdir(directory)).includes(name)) throw new Error(`${name} is there already`);
    await fs.rename(pathOf(tenant), join(directory, name));
    await syncDirectory();
    return current(tenant);
  };

  return {
    async tail(tenant) {
      return (await current(tenant)).tail;
    },

    async append(tenant, entries) {
      let file = await current(tenant);
      const bytes = Buffer.from(entries.map((entry) => `${writeEvidenceLine(entry)}\n`).join(""), "utf8");
      if (file.tail.seq > file.behindSeq && file.sizeBytes + bytes.length > maxFileBytes) {
        file = await rotate(tenant, file);
      }
      try {
        await file.handle.appendFile(bytes);
        await file.handle.datasync();
      } catch (error) {
        // How much of it is there is for the next opening to see.
        await forget(tenant);
        throw error;
      }
      file.sizeBytes += bytes.length;
      file.tail = entries.reduce(tailAfter, file.tail);
    },

    async setAside(tenant) {
      await forget(tenant);
      const mark = `${tenant}.set-aside-${Date.now()}`;
      const name = `${mark}.jsonl`;
      await fs.rename(pathOf(tenant), join(directory, name));
      // Newest first: a crash on the way leaves the beginning of the chain, which the next process judges again.
      for (const earlier of (await earlierFiles(tenant)).toReversed()) {
        await fs.rename(
          join(directory, earlier.name),
          join(directory, `${mark}${earlier.name.slice(tenant.length)}`),
        );
      }
      await syncDirectory();
      return name;
    },

    async close() {
      for (const tenant of [...files.keys()]) await forget(tenant);
    },
  };
}

function tailAfter(tail: MirrorTail, entry: ChainedRecord | SignedCheckpoint): MirrorTail {
  if ("record" in entry) return { ...tail, seq: entry.record.seq, hash: entry.hash };
  const { kind, seq, hash } = entry.checkpoint;
  // Behind a cut the chain goes on from what the cut names.
  if (kind === "cut") return tail.seq === 0 ? { seq, hash, sealedSeq: seq } : tail;
  return { ...tail, sealedSeq: Math.max(tail.sealedSeq, seq) };
}

/** Cuts the file behind its last newline, and answers its size then. */
async function endOfLastLine(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat();
  const chunk = Buffer.alloc(64 * 1024);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunk.length);
    const { bytesRead } = await handle.read(chunk, 0, end - start, start);
    const at = chunk.subarray(0, bytesRead).lastIndexOf(NEWLINE);
    if (at === -1) {
      end = start;
      continue;
    }
    const whole = start + at + 1;
    if (whole < size) await truncate(handle, whole);
    return whole;
  }
  if (size > 0) await truncate(handle, 0);
  return 0;
}

async function truncate(handle: FileHandle, size: number): Promise<void> {
  await handle.truncate(size);
  await handle.sync();
}

/** Reads back from the end until a record and a seal have been seen, or the beginning, before which `before` stands. */
async function readTail(handle: FileHandle, size: number, before: MirrorTail): Promise<MirrorTail> {
  for (let window = FIRST_WINDOW_BYTES; ; window *= 4) {
    const start = Math.max(0, size - window);
    const buffer = Buffer.alloc(size - start);
    await handle.read(buffer, 0, buffer.length, start);
    const lines = buffer.toString("utf8").split("\n");
    // The first may be the rest of a line.
    if (start > 0) lines.shift();
    const tail = lines
      .filter((line) => line !== "")
      .map(readEntry)
      .reduce(tailAfter, start === 0 ? before : EMPTY_TAIL);
    if (start === 0 || (tail.seq > 0 && tail.sealedSeq > 0)) return tail;
  }
}

function readEntry(line: string): ChainedRecord | SignedCheckpoint {
  const entry: unknown = JSON.parse(line);
  if (typeof entry === "object" && entry !== null && ("record" in entry || "checkpoint" in entry)) {
    return entry as ChainedRecord | SignedCheckpoint;
  }
  throw new Error("an evidence file has a line that is none of ours");
}
