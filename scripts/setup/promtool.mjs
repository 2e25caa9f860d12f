import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDebianLike, readDistribution } from "./apt-sources.mjs";
import { capture, findProgram, must } from "./command.mjs";
import { stateDir, statePath } from "./paths.mjs";
import { SetupError } from "./setup-error.mjs";

/**
 * Finds the program that reads Prometheus's rules as Prometheus does. Where there is none, it is taken out of the Debian
 * package: installed, that would bring a server, its user and its service as well.
 */
export async function ensurePromtool(progress) {
  const kept = statePath("promtool");
  const found = (await findProgram("promtool")) ?? (await workingProgram(kept));
  if (found) return found;
  if (!isDebianLike(await readDistribution())) {
    throw new SetupError(
      "promtool is not installed (needed by the tests of the alerts).",
      "Install Prometheus.",
    );
  }
  await progress.step("Fetching promtool", "half a minute", () => fetchInto(kept));
  return kept;
}

async function workingProgram(path) {
  return (await capture(path, ["--version"], { timeoutMs: 60_000 })).code === 0 ? path : undefined;
}

async function fetchInto(path) {
  await mkdir(stateDir, { recursive: true });
  const directory = await mkdtemp(join(stateDir, "promtool-"));
  try {
    // apt gives the download to a user of its own, who has to reach it.
    await chmod(directory, 0o755);
    const download = () =>
      capture("apt-get", ["download", "prometheus"], { cwd: directory, timeoutMs: 300_000 });
    if ((await download()).code !== 0) {
      await capture("apt-get", ["-o", "DPkg::Lock::Timeout=300", "update"], { timeoutMs: 300_000 });
      const { code, stderr } = await download();
      if (code !== 0) throw new SetupError("apt-get could not download prometheus.", stderr.trim());
    }
    const [archive] = await readdir(directory);
    await must("dpkg-deb", ["--extract", archive, "content"], { cwd: directory, timeoutMs: 120_000 });
    await rename(join(directory, "content", "usr", "bin", "promtool"), path);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
