import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./paths.mjs";

/** What docker-compose.yml has to know about this machine and about the images that were built on it. */
export async function composeSettings({ dockerHost, sandboxImageId }) {
  const socket = dockerHost.replace(/^unix:\/\//, "");
  return {
    COMPOSE_PROJECT_NAME: "bailiff",
    BAILIFF_SANDBOX_DIGEST: sandboxImageId,
    DOCKER_GID: String((await stat(socket)).gid),
    DOCKER_SOCKET: socket,
  };
}

/** Puts settings into the checkout's `.env`, which Compose reads; other lines in it stay as they are. */
export async function writeComposeSettings(settings) {
  const path = join(root, ".env");
  const before = await readFile(path, "utf8").catch(() => "");
  await writeFile(`${path}.next`, mergeSettings(before, settings));
  await rename(`${path}.next`, path);
}

/** The text of an env file with these settings in place of its own lines for them. */
export function mergeSettings(text, settings) {
  const kept = text
    .split("\n")
    .filter((line) => line !== "" && !Object.keys(settings).some((name) => line.startsWith(`${name}=`)));
  return [...kept, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`), ""].join("\n");
}
