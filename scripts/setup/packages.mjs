import { access, chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDebianLike, readDistribution } from "./apt-sources.mjs";
import { capture, findProgram } from "./command.mjs";
import { SetupError } from "./setup-error.mjs";

/**
 * Makes sure that programs are there, by installing the Debian packages that bring the missing ones.
 * `programs` maps a program (or the absolute path of a file) to its package; `purpose` completes the sentence "needed …" for the person who must
 * install it by hand. Installs without starting or enabling any service.
 */
export async function installPackages(progress, programs, purpose) {
  const missing = [];
  for (const [program, packageName] of Object.entries(programs)) {
    if (!(await isPresent(program))) missing.push({ program, packageName });
  }
  if (missing.length === 0) return false;
  const names = [...new Set(missing.map(({ packageName }) => packageName))];
  const wanted = missing.map(({ program }) => program).join(", ");
  if (!isDebianLike(await readDistribution())) {
    throw new SetupError(
      `Missing: ${wanted} (needed ${purpose}).`,
      `This is not Debian or Ubuntu, so nothing was installed. Install the equivalent of the Debian packages\n  ${names.join(" ")}\nwith this system's package manager and start again.`,
    );
  }
  if (process.getuid?.() !== 0) {
    throw new SetupError(
      `Missing: ${wanted} (needed ${purpose}), and only root may install it.`,
      `Run this once, then start again:\n  sudo apt-get update && sudo apt-get install --no-install-recommends ${names.join(" ")}`,
    );
  }
  await progress.step(`Installing ${names.join(", ")}`, "1 to 2 minutes", () => install(names));
  for (const { program, packageName } of missing) {
    if (!(await isPresent(program))) {
      throw new SetupError(`The package ${packageName} was installed but brought no program ${program}.`);
    }
  }
  return true;
}

async function isPresent(programOrFile) {
  if (!programOrFile.startsWith("/")) return (await findProgram(programOrFile)) !== undefined;
  return access(programOrFile).then(
    () => true,
    () => false,
  );
}

/** How this process's one update of the package lists ended. */
let updated;

async function install(names) {
  // A service that a package starts would take its port from the machine's owner, and one that is enabled would do
  // so at the next boot. Package scripts find these programs by the PATH that apt gives them, so for this one
  // installation they do nothing.
  const directory = await mkdtemp(join(tmpdir(), "bailiff-apt-"));
  try {
    for (const name of ["invoke-rc.d", "update-rc.d", "deb-systemd-invoke", "deb-systemd-helper"]) {
      await writeFile(join(directory, name), "#!/bin/sh\nexit 0\n");
      await chmod(join(directory, name), 0o755);
    }
    const environment = {
      DEBIAN_FRONTEND: "noninteractive",
      NEEDRESTART_SUSPEND: "1",
    };
    // An unreachable third-party source makes `update` fail although the distribution's own answered; whether the
    // packages can be had is decided by `install`.
    updated ??= await capture("apt-get", ["-o", "DPkg::Lock::Timeout=300", "update"], {
      env: environment,
      timeoutMs: 300_000,
    });
    const installed = await capture(
      "apt-get",
      [
        "-o",
        "DPkg::Lock::Timeout=300",
        "-o",
        `DPkg::Path=${directory}:/usr/sbin:/usr/bin:/sbin:/bin`,
        "install",
        "--yes",
        "--no-install-recommends",
        ...names,
      ],
      { env: environment, timeoutMs: 900_000 },
    );
    if (installed.code !== 0) {
      const tail = (text) => text.trim().split("\n").slice(-12).join("\n");
      throw new SetupError(
        `apt-get could not install ${names.join(", ")}.`,
        `${tail(installed.stderr || installed.stdout)}${updated.code === 0 ? "" : `\n\napt-get update said:\n${tail(updated.stderr)}`}`,
      );
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
