import { open } from "node:fs/promises";
import { inflateRawSync } from "node:zlib";

const END_OF_DIRECTORY = 0x06054b50;
const END_BYTES = 22;

/** One file of a zip archive, by its name. For archives without a comment, below 4 GiB. */
export async function readZipEntry(archive: string, name: string): Promise<Buffer> {
  const file = await open(archive, "r");
  const read = async (bytes: number, at: number) => {
    const { buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, at);
    return buffer;
  };
  try {
    const end = await read(END_BYTES, (await file.stat()).size - END_BYTES);
    if (end.readUInt32LE(0) !== END_OF_DIRECTORY) throw new Error(`${archive} is not a zip archive`);
    const directory = await read(end.readUInt32LE(12), end.readUInt32LE(16));
    for (let at = 0; at < directory.length; ) {
      const nameBytes = directory.readUInt16LE(at + 28);
      const entry = {
        method: directory.readUInt16LE(at + 10),
        bytes: directory.readUInt32LE(at + 20),
        offset: directory.readUInt32LE(at + 42),
        name: directory.toString("utf8", at + 46, at + 46 + nameBytes),
      };
      at += 46 + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
      if (entry.name !== name) continue;
      const head = await read(30, entry.offset);
      const start = entry.offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
      const data = await read(entry.bytes, start);
      return entry.method === 0 ? data : inflateRawSync(data);
    }
    throw new Error(`${archive} has no ${name}`);
  } finally {
    await file.close();
  }
}
