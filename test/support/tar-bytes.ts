/** One entry as it stands in an archive, right or wrong: nothing is checked, and names are latin1. */
export interface RawEntry {
  readonly name: string;
  readonly type?: string;
  readonly linkName?: string;
  readonly body?: string | Buffer;
  /** What the header says in place of the body's length. */
  readonly size?: number;
  readonly mode?: number;
  readonly magic?: string;
}

/** The blocks of one entry. */
export function rawEntry(entry: RawEntry): Buffer {
  const body = Buffer.from(entry.body ?? "");
  const block = Buffer.alloc(512);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.write(entry.name.slice(0, 100), 0, "latin1");
  block.write(octal(entry.mode ?? 0o644, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(entry.size ?? body.length, 11), 124);
  block.write(octal(1_700_000_000, 11), 136);
  block.write(entry.type ?? "0", 156, "latin1");
  block.write((entry.linkName ?? "").slice(0, 100), 157, "latin1");
  block.write(entry.magic ?? "ustar\x0000", 257, "latin1");
  block.fill(0x20, 148, 156);
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
    148,
  );
  return Buffer.concat([block, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** A whole archive. */
export function rawTar(...entries: readonly RawEntry[]): Buffer {
  return Buffer.concat([...entries.map(rawEntry), Buffer.alloc(1024)]);
}

/** An extended header for the entry behind it, with records as they are given. */
export function paxEntry(records: Readonly<Record<string, string>>, type = "x"): RawEntry {
  const body = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest, "latin1");
    while (length !== Buffer.byteLength(rest, "latin1") + String(length).length)
      length = Buffer.byteLength(rest, "latin1") + String(length).length;
    return `${length}${rest}`;
  });
  return { name: "pax", type, body: Buffer.from(body.join(""), "latin1") };
}

/** Bytes in pieces of at most this size. */
export async function* piecesOf(bytes: Buffer, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
