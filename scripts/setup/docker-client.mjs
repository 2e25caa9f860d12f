import { capture, findProgram, must } from "./command.mjs";
import { SetupError } from "./setup-error.mjs";

/**
 * The docker command line against one engine. An old client left in PATH may refuse a newer engine or the other way
 * round, so the first client found that the engine answers is taken.
 */
export async function createDockerClient(dockerHost) {
  const environment = { ...process.env, DOCKER_HOST: dockerHost };
  const found = [...new Set([await findProgram("docker"), "/usr/bin/docker", "/usr/local/bin/docker"])];
  const refusals = [];
  for (const program of found) {
    if (!program) continue;
    const answer = await capture(program, ["version", "--format", "{{.Server.Version}}"], {
      env: environment,
      timeoutMs: 20_000,
    });
    if (answer.code === 0) return client(program, environment, answer.stdout.trim());
    if (answer.code !== 127) refusals.push(`${program}: ${answer.stderr.trim()}`);
  }
  throw new SetupError(
    `No docker command line works with the engine at ${dockerHost}.`,
    refusals.join("\n") || "Install the docker command line (Debian package docker.io).",
  );
}

function client(program, environment, serverVersion) {
  const run = (args, options = {}) => capture(program, args, { env: environment, ...options });
  return {
    program,
    environment,
    serverVersion,
    run,
    must: (args, options = {}) => must(program, args, { env: environment, ...options }),
    async hasImage(image) {
      return (await run(["image", "inspect", "--format", "{{.Id}}", image])).code === 0;
    },
  };
}
