import { mkdir, rename, writeFile } from "node:fs/promises";
import { ensureBuild } from "./build.mjs";
import { createDockerClient } from "./docker-client.mjs";
import { engineAnswers, ensureEngine } from "./engine.mjs";
import { ensureInitBinary, initBinaryIsCurrent } from "./init-binary.mjs";
import { withSetupLock } from "./lock.mjs";
import { ensureNodeModules, requireNode } from "./node-modules.mjs";
import { installPackages } from "./packages.mjs";
import { stateDir, statePath } from "./paths.mjs";
import { ensureRedis } from "./redis.mjs";
import { ensureSandboxImage } from "./sandbox-image.mjs";

/**
 * Brings a fresh machine to where Bailiff and its tests can start, and does nothing where it is there already.
 * With `build`, dist is made current too. What was found is returned and kept in `.bailiff/environment.json`.
 */
export async function prepare(progress, { build = false } = {}) {
  requireNode();
  return withSetupLock(progress, async () => {
    await mkdir(stateDir, { recursive: true });
    await ensureNodeModules(progress);
    await installPackages(progress, await neededPrograms(), "by the set-up");
    const dockerHost = await ensureEngine(progress);
    const docker = await createDockerClient(dockerHost);
    const redisServerPath = await ensureRedis(progress);
    const initPath = await ensureInitBinary(progress);
    const sandbox = await ensureSandboxImage(docker, progress);
    const environment = {
      dockerHost,
      sandboxImage: sandbox.image,
      sandboxImageId: sandbox.id,
      initPath,
      redisServerPath,
    };
    if (build) await ensureBuild(progress);
    const path = statePath("environment.json");
    await writeFile(`${path}.${process.pid}`, `${JSON.stringify(environment, null, 2)}\n`);
    await rename(`${path}.${process.pid}`, path);
    return environment;
  });
}

/** Programs by the package that brings each; a file that must exist counts as one. All at once, so apt runs once. */
async function neededPrograms() {
  const programs = {
    "redis-server": "redis-server",
    git: "git",
    // The docs' own commands, which the tests run, call these.
    curl: "curl",
    tar: "tar",
  };
  if (!(await engineAnswers())) programs.dockerd = "docker.io";
  else programs.docker = "docker.io";
  if (!(await initBinaryIsCurrent())) {
    programs.gcc = "gcc";
    programs.make = "make";
    programs["/usr/include/stdio.h"] = "libc6-dev";
  }
  return programs;
}
