import { ensureCompose } from "./setup/compose.mjs";
import { composeSettings, writeComposeSettings } from "./setup/compose-settings.mjs";
import { createDockerClient } from "./setup/docker-client.mjs";
import { prepare } from "./setup/prepare.mjs";
import { createProgress } from "./setup/progress.mjs";
import { ensureCompilerImage } from "./setup/sandbox-image.mjs";
import { ensureServiceImages } from "./setup/service-images.mjs";
import { printFailure } from "./setup/setup-error.mjs";

try {
  const progress = createProgress();
  const environment = await prepare(progress, { build: true });
  const docker = await createDockerClient(environment.dockerHost);
  await ensureServiceImages(docker, progress);
  if (process.argv.includes("--gcc")) await ensureCompilerImage(docker, progress);
  await writeComposeSettings(await composeSettings(environment));
  if (process.argv.includes("--compose")) await ensureCompose(progress);
  progress.ready("Settings of docker-compose.yml", ".env");
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
