import { accessSync, constants } from "node:fs";
import { request } from "node:http";
import { readTestEnvironment } from "./environment.js";

/** Fails a whole project at its start, with one clear reason, when a real part it needs is missing. */
export default async function requireRealParts(): Promise<void> {
  const environment = readTestEnvironment();
  accessSync(environment.initPath, constants.X_OK);
  accessSync(environment.redisServerPath, constants.X_OK);
  const ping = await engineStatus(environment.dockerSocket, "/_ping");
  if (ping !== 200) throw new Error(`The Docker engine at ${environment.dockerSocket} answers ${ping}`);
  const image = await engineStatus(
    environment.dockerSocket,
    `/images/${encodeURIComponent(environment.sandboxImageId)}/json`,
  );
  if (image !== 200)
    throw new Error(`The sandbox image ${environment.sandboxImageId} is not there (${image})`);
}

function engineStatus(socketPath: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, timeout: 10_000 }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    asked.on("timeout", () => asked.destroy(new Error(`The Docker engine at ${socketPath} does not answer`)));
    asked.on("error", reject);
    asked.end();
  });
}
