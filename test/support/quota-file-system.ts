import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const PACKAGES = new URL("../../scripts/setup/packages.mjs", import.meta.url).href;
const run = promisify(execFile);

/** A file system in a file, mounted for one test. */
export interface QuotaFileSystem {
  readonly path: string;
  /** Why it has no project quotas; null where it has. */
  readonly lacks: string | null;
  /** Unmounts and deletes it; the kernel gives its loop device back by itself. */
  remove(): Promise<void>;
}

/**
 * Mounts a new XFS with project quotas, or without them where this kernel was built so. Needs root and loop devices. Installs what is
 * missing of the programs.
 */
export async function mountQuotaFileSystem(): Promise<QuotaFileSystem> {
  const { installPackages } = await import(PACKAGES);
  const progress = { step: (_: string, __: string, work: () => unknown) => work() };
  const programs = { "mkfs.xfs": "xfsprogs", setquota: "quota", chattr: "e2fsprogs", mount: "mount" };
  await installPackages(progress, programs, "to try project quotas");
  const directory = await mkdtemp(join(tmpdir(), "bailiff-quota-"));
  const [image, path] = [join(directory, "image"), join(directory, "mounted")];
  const mount = (options: string) => run("mount", ["-t", "xfs", "-o", options, image, path]);
  try {
    await writeFile(image, "");
    await truncate(image, 400 << 20);
    await mkdir(path);
    await run("mkfs.xfs", ["-q", image]);
    let lacks: string | null = null;
    try {
      await mount("loop,prjquota");
    } catch {
      // A kernel without quotas still mounts it without; what it does not mount at all is a fault of the machine.
      await mount("loop");
      lacks = "this kernel mounts XFS, but not with prjquota";
    }
    return {
      path,
      lacks,
      async remove() {
        await run("umount", [path]);
        await rm(directory, { recursive: true });
      },
    };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw new Error("no XFS could be mounted: this test needs root, loop devices and a kernel with XFS", {
      cause: error,
    });
  }
}
