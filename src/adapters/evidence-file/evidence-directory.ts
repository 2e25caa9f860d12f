import { type FileHandle, mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SignedCheckpoint } from "../../domain/evidence/checkpoint.js";
import { writeEvidenceLine } from "../../domain/evidence/evidence-line.js";
import { type ChainedRecord, EMPTY_CHAIN } from "../../domain/evidence/evidence-record.js";
import { isName } from "../../domain/ids.js";
import type { EvidenceMirror, MirrorTail } from "../../ports/evidence-mirror.js";

const NEWLINE = 0x0a;
const FIRST_WINDOW_BYTES = 1 << 20;

interface OpenFile {
  readonly handle: FileHandle;
  sizeBytes: number;
  tail: MirrorTail;
}

/**
 * One append-only `TENANT.jsonl` per tenant. A line counts once its newline is there: what a crash cut off behind the last one
 * is removed, and comes again from the store. A file that another process has written to meanwhile is read again.
 */
export function createEvidenceDirectory(directory: string): EvidenceMirror {
  const files = new Map<string, OpenFile>();

  const pathOf = (tenant: string): string => {
    if (!isName(tenant)) throw new Error("not the name of a tenant");
    return join(directory, `${tenant}.jsonl`);
  };

  const openFile = async (tenant: string): Promise<OpenFile> => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const handle = await open(pathOf(tenant), "a+", 0o600);
    try {
      await syncDirectory(directory);
      const sizeBytes = await endOfLastLine(handle);
      return { handle, sizeBytes, tail: await readTail(handle, sizeBytes) };
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
      const [held, named] = await Promise.all([known.handle.stat(), stat(pathOf(tenant)).catch(() => null)]);
      if (held.size === known.sizeBytes && named?.ino === held.ino) return known;
      await forget(tenant);
    }
    const opened = await openFile(tenant);
    files.set(tenant, opened);
    return opened;
  };

  return {
    async tail(tenant) {
      return (await current(tenant)).tail;
    },

    async append(tenant, entries) {
      const file = await current(tenant);
      const bytes = Buffer.from(entries.map((entry) => `${writeEvidenceLine(entry)}\n`).join(""), "utf8");
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
      const name = `${tenant}.set-aside-${Date.now()}.jsonl`;
      await rename(pathOf(tenant), join(directory, name));
      await syncDirectory(directory);
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

/** Reads back from the end until a record and a seal have been seen, or the beginning. */
async function readTail(handle: FileHandle, size: number): Promise<MirrorTail> {
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
      .reduce(tailAfter, { ...EMPTY_CHAIN, sealedSeq: 0 });
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

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
