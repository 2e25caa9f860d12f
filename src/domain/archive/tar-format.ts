import { Buffer } from "node:buffer";
import { ArchiveRefused } from "./archive-terms.js";
import type { BytePath } from "./byte-path.js";

/** Everything in a tar stream is padded to blocks. */
export const BLOCK_BYTES = 512;

/** What an archive can hold here. */
export type EntryKind = "file" | "directory" | "symlink" | "hardlink";

/** One header block as it is written. */
export interface TarHeader {
  /** `0` for a plain file, whatever the archive's age. */
  readonly typeflag: string;
  readonly name: BytePath;
  readonly linkName: BytePath;
  readonly size: number;
  readonly mode: number;
  readonly mtimeS: number;
}

const CHECKSUM_AT = 148;
const CHECKSUM_END = 156;
const MAX_OCTAL_7 = 0o7777777;
const MAX_OCTAL_11 = 0o77777777777;
const TYPEFLAGS: Readonly<Record<Exclude<EntryKind, "hardlink">, string>> = {
  file: "0",
  symlink: "2",
  directory: "5",
};

const invalid = (message: string) => new ArchiveRefused("invalid", message);

/** Reads a header block; null for a block of zeros. Throws ArchiveRefused for what is no header. */
export function decodeHeader(block: Buffer): TarHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  if (octal(block.toString("latin1", CHECKSUM_AT, CHECKSUM_END)) !== checksumOf(block))
    throw invalid("this is not a tar archive, or it is damaged: a header's checksum is wrong");
  const magic = block.toString("latin1", 257, 263);
  const name = text(block, 0, 100);
  // Only POSIX has the first part of a long name here; GNU keeps times in its place.
  const prefix = magic === "ustar\0" ? text(block, 345, 155) : "";
  const flag = block.toString("latin1", 156, 157);
  return {
    typeflag: flag === "\0" || flag === "7" ? "0" : flag,
    name: prefix === "" ? name : `${prefix}/${name}`,
    linkName: text(block, 157, 100),
    size: number(block, 124, 12),
    mode: number(block, 100, 8),
    mtimeS: number(block, 136, 12),
  };
}

/** Reads the records of an extended header. Throws ArchiveRefused where one does not end where it says. */
export function decodePax(bytes: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const digits = space === -1 ? "" : bytes.toString("latin1", at, space);
    const length = /^[1-9][0-9]{0,7}$/.test(digits) ? Number(digits) : 0;
    const end = at + length;
    const equals = bytes.indexOf(0x3d, space);
    if (length === 0 || end > bytes.length || bytes[end - 1] !== 0x0a || equals === -1 || equals >= end)
      throw invalid("an extended header is damaged");
    records.set(bytes.toString("latin1", space + 1, equals), bytes.toString("latin1", equals + 1, end - 1));
    at = end;
  }
  return records;
}

/** A number of an extended header: whole seconds or bytes. Throws ArchiveRefused for anything else. */
export function paxNumber(value: string): number {
  if (!/^-?[0-9]{1,16}(?:\.[0-9]*)?$/.test(value))
    throw invalid("an extended header has a number that is none");
  return Math.floor(Number(value));
}

/** The header of an entry, with an extended one before it where something does not fit the old fields. */
export function encodeEntry(entry: {
  readonly kind: Exclude<EntryKind, "hardlink">;
  readonly name: BytePath;
  readonly linkName: BytePath;
  readonly size: number;
  readonly mode: number;
  readonly mtimeS: number;
  readonly uid: number;
  readonly gid: number;
}): Buffer {
  const name = entry.kind === "directory" ? `${entry.name}/` : entry.name;
  const records: (readonly [string, string])[] = [];
  if (name.length > 100) records.push(["path", name]);
  if (entry.linkName.length > 100) records.push(["linkpath", entry.linkName]);
  if (entry.size > MAX_OCTAL_11) records.push(["size", String(entry.size)]);
  if (entry.uid > MAX_OCTAL_7) records.push(["uid", String(entry.uid)]);
  if (entry.gid > MAX_OCTAL_7) records.push(["gid", String(entry.gid)]);
  const block = encodeHeader({ ...entry, name, typeflag: TYPEFLAGS[entry.kind] });
  return records.length === 0 ? block : Buffer.concat([encodePax("x", records), block]);
}

/** A comment, which whoever unpacks the archive passes over. */
export function encodeComment(comment: BytePath): Buffer {
  return encodePax("g", [["comment", comment]]);
}

function encodePax(typeflag: "x" | "g", records: readonly (readonly [string, string])[]): Buffer {
  const body = Buffer.from(records.map(([key, value]) => paxRecord(key, value)).join(""), "latin1");
  const header = encodeHeader({
    typeflag,
    name: "pax_header",
    linkName: "",
    size: body.length,
    mode: 0o644,
    mtimeS: 0,
    uid: 0,
    gid: 0,
  });
  return Buffer.concat([header, body, Buffer.alloc(paddingOf(body.length))]);
}

/** How many bytes fill the last block of a content. */
export function paddingOf(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  // The length counts its own digits.
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length;
  return `${length}${rest}`;
}

function encodeHeader(header: TarHeader & { readonly uid: number; readonly gid: number }): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const write = (value: number, at: number, digits: number, max: number) =>
    block.write(Math.min(Math.max(value, 0), max).toString(8).padStart(digits, "0"), at, "latin1");
  block.write(header.name.slice(0, 100), 0, "latin1");
  write(header.mode & 0o7777, 100, 7, MAX_OCTAL_7);
  write(header.uid, 108, 7, MAX_OCTAL_7);
  write(header.gid, 116, 7, MAX_OCTAL_7);
  write(header.size, 124, 11, MAX_OCTAL_11);
  write(header.mtimeS, 136, 11, MAX_OCTAL_11);
  block.write(header.typeflag, 156, "latin1");
  block.write(header.linkName.slice(0, 100), 157, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  write(checksumOf(block), CHECKSUM_AT, 6, MAX_OCTAL_7);
  block.write("\0 ", CHECKSUM_AT + 6, "latin1");
  return block;
}

function checksumOf(block: Buffer): number {
  let sum = 0x20 * (CHECKSUM_END - CHECKSUM_AT);
  for (let i = 0; i < BLOCK_BYTES; i += 1) {
    if (i < CHECKSUM_AT || i >= CHECKSUM_END) sum += block[i] ?? 0;
  }
  return sum;
}

function text(block: Buffer, at: number, length: number): BytePath {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("latin1", 0, end === -1 ? length : end);
}

/** Octal digits, or in GNU's way a big-endian number behind a set bit; -1 for a negative one. */
function number(block: Buffer, at: number, length: number): number {
  const field = block.subarray(at, at + length);
  const first = field[0] ?? 0;
  if (first === 0xff) return -1;
  if (first === 0x80) {
    let value = 0;
    for (const byte of field.subarray(1)) value = value * 256 + byte;
    if (!Number.isSafeInteger(value)) throw invalid("a header has a number that is too large");
    return value;
  }
  const value = octal(field.toString("latin1"));
  if (value === null) throw invalid("a header has a number that is none");
  return value;
}

/** Null for what is no octal number; nothing at all is 0. */
function octal(field: string): number | null {
  const digits = field.replace(/[\0 ]+$/, "").trimStart();
  if (!/^[0-7]*$/.test(digits)) return null;
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}
