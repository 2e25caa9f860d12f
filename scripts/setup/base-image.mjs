import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  formatOneLine,
  readDistribution,
  readDistributionSources,
  readTransportOptions,
} from "./apt-sources.mjs";
import { capture, findProgram } from "./command.mjs";
import { installPackages } from "./packages.mjs";
import { SetupError } from "./setup-error.mjs";

const registryBase = "debian:bookworm-slim";
const bootstrappedBase = "bailiff-base:bootstrap";

/**
 * Names an image to build the sandbox image on: one named by the operator, one the engine has, one a registry
 * gives within seconds, else one made from this machine's own package sources.
 * `ownSources` says whether the base must keep its own apt sources, because it isn't this machine's distribution.
 */
export async function findBaseImage(docker, progress) {
  const named = process.env.SANDBOX_BASE_IMAGE;
  if (named) return { image: named, ownSources: true };
  const distribution = await readDistribution();
  const ownSources = distribution.codename !== "bookworm";
  if (await docker.hasImage(registryBase)) return { image: registryBase, ownSources };
  if (await docker.hasImage(bootstrappedBase)) return { image: bootstrappedBase, ownSources: false };
  const pulled = await progress.step(`Base image ${registryBase}: asking the registry`, "at most 90 s", () =>
    pull(docker, registryBase),
  );
  if (pulled) return { image: registryBase, ownSources };
  await bootstrap(docker, progress, distribution);
  return { image: bootstrappedBase, ownSources: false };
}

/** A registry that doesn't answer fails in seconds; one that has begun to send layers gets longer. */
async function pull(docker, image) {
  const startedMs = Date.now();
  return new Promise((resolve) => {
    const child = spawn(docker.program, ["pull", image], {
      env: docker.environment,
      stdio: ["ignore", "pipe", "ignore"],
    });
    let answered = false;
    child.stdout.on("data", () => {
      answered = true;
    });
    const timer = setInterval(() => {
      const elapsedMs = Date.now() - startedMs;
      if (elapsedMs > (answered ? 90_000 : 8_000)) child.kill("SIGKILL");
    }, 250);
    child.on("error", () => {
      clearInterval(timer);
      resolve(false);
    });
    child.on("close", (code) => {
      clearInterval(timer);
      resolve(code === 0);
    });
  });
}

async function bootstrap(docker, progress, distribution) {
  await installPackages(
    progress,
    { mmdebstrap: "mmdebstrap" },
    "to make a base image, since no image registry answers",
  );
  const stanzas = await readDistributionSources(distribution.codename);
  if (stanzas.length === 0) {
    throw new SetupError(
      `No apt source for ${distribution.codename || "this distribution"} was found, and no image registry answers.`,
      `Give the sandbox a base image yourself: load one with 'docker load', then set SANDBOX_BASE_IMAGE to its name.`,
    );
  }
  await progress.step(`Base image from ${distribution.codename} packages`, "about a minute", async () => {
    const directory = await mkdtemp(join(tmpdir(), "bailiff-base-"));
    try {
      await bootstrapInto(docker, directory, distribution, stanzas);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
}

async function bootstrapInto(docker, directory, distribution, stanzas) {
  const archive = join(directory, "base.tar");
  const options = (await readTransportOptions()).map((line) => `--aptopt=${line.replace(/;$/, "")}`);
  const made = await capture(
    (await findProgram("mmdebstrap")) ?? "mmdebstrap",
    [
      "--variant=minbase",
      "--format=tar",
      "--include=ca-certificates",
      "--dpkgopt=path-exclude=/usr/share/doc/*",
      "--dpkgopt=path-exclude=/usr/share/man/*",
      "--dpkgopt=path-exclude=/usr/share/locale/*",
      ...options,
      // How this machine reaches packages is its own affair: the image keeps none of it.
      '--customize-hook=rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/apt.conf.d/99mmdebstrap',
      distribution.codename,
      archive,
      "-",
    ],
    { input: formatOneLine(stanzas), timeoutMs: 900_000 },
  );
  if (made.code !== 0) {
    throw new SetupError(
      "mmdebstrap could not make a base image.",
      made.stderr.split("\n").slice(-20).join("\n"),
    );
  }
  await docker.must(["import", "--change", "LABEL dev.bailiff.base=bootstrap", archive, bootstrappedBase]);
}
