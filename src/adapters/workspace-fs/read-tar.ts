import { type ArchiveLimits, ArchiveRefused } from "../../domain/archive/archive-terms.js";
import { type BytePath, shownPath } from "../../domain/archive/byte-path.js";
import {
  BLOCK_BYTES,
  decodeHeader,
  decodePax,
  type EntryKind,
  paddingOf,
  paxNumber,
  type TarHeader,
} from "../../domain/archive/tar-format.js";

/** Of one extended header. A path has 4,096 bytes at most; the rest is for attributes, which are passed over. */
const MAX_EXTENSION_BYTES = 65_536;

const KINDS: Readonly<Record<string, EntryKind>> = {
  "0": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "directory",
};

const REFUSED_KINDS: Readonly<Record<string, string>> = {
  "3": "it is a device",
  "4": "it is a device",
  "6": "it is a FIFO",
  S: "it is a sparse file: write the archive without --sparse",
  M: "it is a part of an archive of several volumes",
};

/** One entry of a tar stream. `body` must be read, or left, before the next entry is asked for. */
export interface TarEntry {
  readonly kind: EntryKind;
  readonly name: BytePath;
  readonly linkName: BytePath;
  readonly size: number;
  readonly mode: number;
  readonly mtimeS: number;
  body(): AsyncGenerator<Buffer>;
}

/** What extended headers say about the entry behind them. */
interface Extension {
  name?: BytePath;
  linkName?: BytePath;
  size?: number;
  mtimeS?: number;
}

/**
 * The entries of a tar stream (POSIX with extended headers, GNU with long names, and the old form), as it comes in. Throws
 * ArchiveRefused for what is not one from its first byte to its end: a stream that was cut off, one without an end or with
 * something behind it, and what this reader would have to guess about.
 *
 * It is strict where readers for general use are lenient, and keeps names as bytes: what one reader takes for data and another for
 * a header is how archives get past checks.
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
): AsyncGenerator<TarEntry> {
  const bytes = chunks[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let seen = 0;
  /** False at the end of the stream. */
  const fill = async (): Promise<boolean> => {
    const next = await bytes.next();
    if (next.done === true) return false;
    seen += next.value.byteLength;
    if (seen > limits.maxBytes)
      throw new ArchiveRefused(
        "too_large",
        `the archive is larger than archives.max_bytes (${limits.maxBytes} bytes)`,
      );
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    return true;
  };
  const cutOff = () => new ArchiveRefused("invalid", "the archive is cut off");
  /** At least one byte and at most as many as asked. */
  const some = async (most: number): Promise<Buffer> => {
    while (held.length === 0) if (!(await fill())) throw cutOff();
    const part = held.subarray(0, most);
    held = held.subarray(part.length);
    return part;
  };
  const exactly = async (size: number): Promise<Buffer> => {
    while (held.length < size) if (!(await fill())) throw cutOff();
    const part = held.subarray(0, size);
    held = held.subarray(size);
    return part;
  };
  const extensionBody = async (header: TarHeader): Promise<Buffer> => {
    if (header.size < 0 || header.size > MAX_EXTENSION_BYTES)
      throw new ArchiveRefused("invalid", `an extended header is larger than ${MAX_EXTENSION_BYTES} bytes`);
    const body = await exactly(header.size);
    await exactly(paddingOf(header.size));
    return body;
  };

  try {
    let extension: Extension | undefined;
    for (;;) {
      const header = decodeHeader(await exactly(BLOCK_BYTES));
      if (header === null) {
        if (extension !== undefined)
          throw new ArchiveRefused("invalid", "an extended header belongs to no entry");
        if (decodeHeader(await exactly(BLOCK_BYTES)) !== null)
          throw new ArchiveRefused("invalid", "there is an empty block between entries");
        do {
          if (held.some((byte) => byte !== 0))
            throw new ArchiveRefused("invalid", "there is something behind the archive's end");
          held = Buffer.alloc(0);
        } while (await fill());
        return;
      }
      if (header.typeflag === "g") {
        requireHarmlessGlobals(decodePax(await extensionBody(header)));
        continue;
      }
      if (header.typeflag === "x" || header.typeflag === "L" || header.typeflag === "K") {
        extension = { ...extension, ...readExtension(header.typeflag, await extensionBody(header)) };
        continue;
      }
      const entry = entryOf(header, extension ?? {});
      extension = undefined;
      let left = entry.size;
      yield {
        ...entry,
        async *body() {
          while (left > 0) {
            const part = await some(left);
            left -= part.length;
            yield part;
          }
        },
      };
      while (left > 0) left -= (await some(left)).length;
      await exactly(paddingOf(entry.size));
    }
  } finally {
    await bytes.return?.();
  }
}

function readExtension(typeflag: "x" | "L" | "K", body: Buffer): Extension {
  if (typeflag !== "x") {
    const end = body.indexOf(0);
    const text = body.toString("latin1", 0, end === -1 ? body.length : end);
    return typeflag === "L" ? { name: text } : { linkName: text };
  }
  const records = decodePax(body);
  const extension: Extension = {};
  const name = records.get("path");
  if ([...records.keys()].some((key) => key.startsWith("GNU.sparse.")))
    throw new ArchiveRefused(
      "invalid",
      "it is a sparse file: write the archive without --sparse",
      name === undefined ? null : shownPath(name),
    );
  if (name !== undefined) extension.name = name;
  const linkName = records.get("linkpath");
  if (linkName !== undefined) extension.linkName = linkName;
  const size = records.get("size");
  if (size !== undefined) extension.size = paxNumber(size);
  const mtime = records.get("mtime");
  if (mtime !== undefined) extension.mtimeS = paxNumber(mtime);
  return extension;
}

/** Records for every entry behind them are comments in practice; one that would rename or resize those is not believed. */
function requireHarmlessGlobals(records: ReadonlyMap<string, string>): void {
  for (const key of records.keys()) {
    if (/^(?:path|linkpath|size)$|^GNU\.sparse\./.test(key))
      throw new ArchiveRefused("invalid", "a global extended header speaks of single entries");
  }
}

function entryOf(header: TarHeader, extension: Extension): Omit<TarEntry, "body"> {
  const name = extension.name ?? header.name;
  const refuse = (message: string) => new ArchiveRefused("invalid", message, shownPath(name));
  // Archives older than the flag for directories mark them so. Only the whole name tells: one that goes on in an extended header
  // may be cut off behind a slash in its own.
  const typeflag = header.typeflag === "0" && name.endsWith("/") ? "5" : header.typeflag;
  const kind = Object.hasOwn(KINDS, typeflag) ? KINDS[typeflag] : undefined;
  if (kind === undefined) throw refuse(REFUSED_KINDS[header.typeflag] ?? "it is of a kind that is not taken");
  const size = extension.size ?? header.size;
  if (!Number.isSafeInteger(size) || size < 0) throw refuse("its size is no size");
  if (kind !== "file" && size > 0) throw refuse("it is no file and yet has a content");
  return {
    kind,
    name,
    linkName: extension.linkName ?? header.linkName,
    size,
    mode: header.mode,
    mtimeS: Math.max(0, extension.mtimeS ?? header.mtimeS),
  };
}
