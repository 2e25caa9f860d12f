import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { statePath } from "./paths.mjs";

/** The hash of the inputs that a product was last made from, or an empty string. */
export async function readRecordedHash(product) {
  return (await readFile(statePath("made-from", product), "utf8").catch(() => "")).trim();
}

/** Remembers what a product was made from; written last, so that a broken make is made again. */
export async function recordHash(product, hash) {
  await mkdir(statePath("made-from"), { recursive: true });
  const path = statePath("made-from", product);
  await writeFile(`${path}.${process.pid}`, `${hash}\n`);
  await rename(`${path}.${process.pid}`, path);
}
