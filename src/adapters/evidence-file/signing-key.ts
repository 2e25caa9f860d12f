import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { link, mkdir, open, readFile, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** The signing key can't be used; the message says why and never what it holds. */
class SigningKeyFault extends Error {
  override readonly name = "SigningKeyFault";
}

/** Reads an Ed25519 private key in PEM. Rejects with SigningKeyFault. */
export async function readSigningKey(path: string): Promise<KeyObject> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new SigningKeyFault(`the signing key ${path} can't be read (${error.code ?? "unknown"})`);
  });
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch {
    throw new SigningKeyFault(`${path} is not a private key in PEM`);
  }
  if (key.asymmetricKeyType !== "ed25519") throw new SigningKeyFault(`${path} is not an Ed25519 key`);
  return key;
}

/** The key of a file, which is made (mode 0600) where there is none; of several processes at once one makes it. */
export async function readOrMakeSigningKey(path: string): Promise<KeyObject> {
  const isThere = await readFile(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
  if (!isThere) await makeSigningKey(path);
  return readSigningKey(path);
}

async function makeSigningKey(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const { privateKey } = generateKeyPairSync("ed25519", {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const next = `${path}.${process.pid}.new`;
  const handle = await open(next, "wx", 0o600);
  try {
    await handle.writeFile(privateKey);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    // Unlike a rename, a link never replaces a key that another process has made meanwhile.
    await link(next, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await unlink(next);
  }
}
