import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const compress = promisify(gzip);

/** Files of these kinds are served, and no others: source maps and the like stay where they are. */
const MEDIA_TYPES: Readonly<Record<string, { readonly type: string; readonly compressible: boolean }>> = {
  ".html": { type: "text/html; charset=utf-8", compressible: true },
  ".js": { type: "text/javascript; charset=utf-8", compressible: true },
  ".css": { type: "text/css; charset=utf-8", compressible: true },
  ".svg": { type: "image/svg+xml", compressible: true },
  ".woff2": { type: "font/woff2", compressible: false },
};

/** One file of the console, ready to be sent. */
export interface ConsoleFile {
  readonly mediaType: string;
  readonly bytes: Buffer;
  /** The same compressed; null where that saves nothing. */
  readonly gzipped: Buffer | null;
  /** For conditional requests. */
  readonly etag: string;
}

/** The console as it was built. */
export interface ConsoleFiles {
  readonly page: ConsoleFile;
  /** By name; each name has a hash of the content in it, so an address never changes what it means. */
  readonly assets: ReadonlyMap<string, ConsoleFile>;
}

/** Reads the built console into memory: it is small, and no request then names a path. Null where none was built. */
export async function readConsoleFiles(directory: string): Promise<ConsoleFiles | null> {
  const page = await readConsoleFile(join(directory, "index.html")).catch(absent);
  if (page === null) return null;
  const names = await readdir(join(directory, "assets"));
  const assets = new Map<string, ConsoleFile>();
  for (const name of names) {
    const file = await readConsoleFile(join(directory, "assets", name));
    if (file !== null) assets.set(name, file);
  }
  return { page, assets };
}

async function readConsoleFile(path: string): Promise<ConsoleFile | null> {
  const media = MEDIA_TYPES[extname(path)];
  if (media === undefined) return null;
  const bytes = await readFile(path);
  return {
    mediaType: media.type,
    bytes,
    gzipped: media.compressible ? await compress(bytes, { level: 9 }) : null,
    etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
  };
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}
