import Docker from "dockerode";
import { readTestEnvironment } from "./environment.js";

/** Commits the sandbox image with Dockerfile instructions on top. Returns the image's id; remove it with `removeImage`. */
export async function deriveImage(instructions: readonly string[]): Promise<string> {
  const { dockerSocket, sandboxImageId } = readTestEnvironment();
  const docker = new Docker({ socketPath: dockerSocket });
  const container = await docker.createContainer({ Image: sandboxImageId, Cmd: ["true"] });
  try {
    const made: { Id: string } = await container.commit({ changes: [...instructions] });
    return made.Id;
  } finally {
    await container.remove({ force: true });
  }
}

/** Removes an image that a test made. */
export async function removeImage(id: string): Promise<void> {
  await new Docker({ socketPath: readTestEnvironment().dockerSocket }).getImage(id).remove({ force: true });
}
