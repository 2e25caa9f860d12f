import Docker from "dockerode";

/** Ids of every container of this deployment that the engine still has, whatever its state. */
export async function leftoverContainers(socketPath: string, deploymentId: string): Promise<string[]> {
  const found = await new Docker({ socketPath }).listContainers({
    all: true,
    filters: { label: [`bailiff.deployment=${deploymentId}`] },
  });
  return found.map((container) => container.Id);
}
