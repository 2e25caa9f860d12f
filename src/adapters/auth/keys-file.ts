import { open, readFile, rename, stat, unlink } from "node:fs/promises";
import { type Document, isMap, isSeq, parseDocument } from "yaml";
import { z } from "zod";
import { type ApiKeyRecord, apiKeyRecordSchema } from "./api-key.js";

const MAX_BYTES = 16 << 20;

const keysFileSchema = z.strictObject({
  version: z.literal(1),
  keys: z
    .array(apiKeyRecordSchema)
    .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, "must not hold a key id twice"),
});

/** The keys file can't be used. The message names the place and quotes no content. */
export class KeysFileFault extends Error {
  override readonly name = "KeysFileFault";
}

/** Identifies one version of the file on disk without reading it. */
export interface FileVersion {
  readonly inode: bigint;
  readonly size: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
}

/** The file's version now; refuses a file that others than its owner could write. */
export async function keysFileVersion(path: string): Promise<FileVersion> {
  const found = await stat(path, { bigint: true });
  if (!found.isFile()) throw new KeysFileFault("the keys file is not a regular file");
  // SAFETY: whoever can write this file can give themselves any tenant.
  if ((found.mode & 0o022n) !== 0n)
    throw new KeysFileFault("the keys file can be written by group or others");
  if (found.size > BigInt(MAX_BYTES))
    throw new KeysFileFault(`the keys file is larger than ${MAX_BYTES} bytes`);
  return { inode: found.ino, size: found.size, modifiedNs: found.mtimeNs, changedNs: found.ctimeNs };
}

function parseKeys(text: string): { document: Document; keys: readonly ApiKeyRecord[] } {
  const document = parseDocument(text, { prettyErrors: false, stringKeys: true });
  const fault = [...document.errors, ...document.warnings][0];
  if (fault) throw new KeysFileFault(`the keys file is not valid YAML or JSON (${fault.code})`);
  const parsed = keysFileSchema.safeParse(document.toJS({ maxAliasCount: 0 }));
  if (!parsed.success) {
    const places = parsed.error.issues.slice(0, 5).map((issue) => issue.path.join(".") || "(top)");
    throw new KeysFileFault(`the keys file is not valid at ${places.join(", ")}`);
  }
  return { document, keys: parsed.data.keys };
}

/** Every key of the file. Throws KeysFileFault for a bad file, and what the file system says where there is none. */
export async function readKeysFile(path: string): Promise<readonly ApiKeyRecord[]> {
  await keysFileVersion(path);
  return parseKeys(await readFile(path, "utf8")).keys;
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENOENT";

/**
 * Changes the file in one step that a reader sees whole or not at all. Comments stay. Two changes at once can't both
 * win: the second throws KeysFileFault.
 */
async function changeKeysFile(
  path: string,
  change: (document: Document, keys: readonly ApiKeyRecord[]) => void,
) {
  const next = `${path}.new`;
  // The new file is the lock: only one can be made, and its rename gives it up.
  const handle = await open(next, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new KeysFileFault(
      `${next} exists: another change is running, or one was cut off and the file can be removed`,
    );
  });
  try {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if (isMissing(error)) return "version: 1\nkeys: []\n";
      throw error;
    });
    const { document, keys } = parseKeys(text);
    change(document, keys);
    const changed = document.toString({ lineWidth: 0 });
    parseKeys(changed);
    const before = await stat(path).catch(() => null);
    if (before) await handle.chown(before.uid, before.gid);
    await handle.writeFile(changed, "utf8");
    await handle.sync();
    await rename(next, path);
  } catch (error) {
    await unlink(next).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
}

/** Adds a key; makes the file (mode 0600) where there is none. */
export async function addKey(path: string, record: ApiKeyRecord): Promise<void> {
  await changeKeysFile(path, (document) => {
    const keys = document.get("keys");
    if (isSeq(keys)) keys.flow = false;
    document.addIn(["keys"], document.createNode(record));
  });
}

/** Disables a key. False where the file holds no such id. */
export async function disableKey(path: string, id: string): Promise<boolean> {
  let found = false;
  await changeKeysFile(path, (document) => {
    const keys = document.get("keys");
    for (const entry of isSeq(keys) ? keys.items : []) {
      if (isMap(entry) && entry.get("id") === id) {
        entry.set("disabled", true);
        found = true;
      }
    }
  });
  return found;
}
