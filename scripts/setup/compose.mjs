import { capture, findProgram } from "./command.mjs";
import { installPackages } from "./packages.mjs";

/** Makes sure that docker-compose is there, for the installation that docker-compose.yml describes. */
export async function ensureCompose(progress) {
  await installPackages(progress, { "docker-compose": "docker-compose" }, "by docker-compose.yml");
  const { stdout } = await capture((await findProgram("docker-compose")) ?? "docker-compose", [
    "version",
    "--short",
  ]);
  progress.ready("Compose", `docker-compose ${stdout.trim()}`);
}
