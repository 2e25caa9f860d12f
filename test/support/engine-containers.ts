import Docker from "dockerode";
import { readTestEnvironment } from "./environment.js";

/** Ids of the containers a deployment has on the engine, in any state. */
export async function containersOf(deployment: string): Promise<string[]> {
  const docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
  const found = await docker.listContainers({
    all: true,
    filters: { label: [`bailiff.deployment=${deployment}`] },
  });
  return found.map((container) => container.Id);
}

/** Kills and removes every container of a deployment. */
export async function removeContainersOf(deployment: string): Promise<void> {
  const docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
  for (const id of await containersOf(deployment)) {
    // Another removal of the same container may be under way.
    await docker
      .getContainer(id)
      .remove({ force: true, v: true })
      .catch(() => undefined);
  }
}
