import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new directory that any user may write to, and the way to remove it. */
export async function createScratchDirectory(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "bailiff-test-"));
  await chmod(path, 0o777);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
