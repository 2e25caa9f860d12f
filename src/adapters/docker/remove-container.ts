import { RuntimeFault } from "../../ports/container-runtime.js";
import type { EngineClient } from "./engine-client.js";

const POLL_MS = 100;
/** How long another's removal of the same container may take before this one counts as unconfirmed. */
const POLLS = 100;

/**
 * Kill and remove, and see it through: resolves once the engine has confirmed that the container is gone.
 * @throws RuntimeFault
 */
export async function removeContainer(engine: EngineClient, container: string): Promise<void> {
  let answer: "removed" | "gone" | "busy";
  try {
    answer = await engine.remove(container);
  } catch (error) {
    // A removal can fail on the file system's side after the kill that came first; what must not go on is the process.
    await engine.kill(container).catch(() => {});
    if (!(error instanceof RuntimeFault) || error.code !== "refused") throw error;
    answer = await engine.remove(container);
  }
  for (let polls = 0; answer === "busy"; polls += 1) {
    if ((await engine.inspect(container)) === null) return;
    if (polls >= POLLS) {
      throw new RuntimeFault("refused", "remove", "remove: another removal of the container does not end");
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (polls % 10 === 9) answer = await engine.remove(container);
  }
}
