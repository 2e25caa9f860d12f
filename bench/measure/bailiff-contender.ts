import { openAgent } from "../../test/support/bailiff.js";
import { createApiClient } from "./api-client.js";
import type { BenchmarkContext } from "./benchmark.js";
import { type Contender, timed } from "./sampling.js";
import type { Service } from "./service.js";

/** `bailiff all` of a service with these settings, one `true` after the other. */
export async function bailiffContender(
  context: BenchmarkContext,
  service: Service,
  settings: Record<string, unknown>,
): Promise<Contender> {
  const bailiff = await service.start("all", settings);
  const tenant = await openAgent(service.installation, bailiff);
  const client = createApiClient(bailiff.url);
  context.defer(() => client.close());
  return async () => {
    const elapsedMs = await timed(() => client.run(tenant, ["true"]));
    // Bailiff removes, and makes the next one, behind its answer; `docker run` removes before it ends: nobody else must pay for that.
    await service.settled(bailiff);
    return elapsedMs;
  };
}
