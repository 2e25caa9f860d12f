import type { Redis } from "ioredis";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { RunScript } from "./scripts.js";

/** How long replicas may take. Redis is asked at the end of it whether they have what was written, and says no. */
const WAIT_MS = 1_000;

/**
 * Runs scripts on a connection of its own, and answers only once so many replicas have what they wrote: a failover to one of those
 * does not undo it. Rejects with StoreUnavailable otherwise; it may have been done all the same. Others wait behind it on that
 * connection, and on no other. https://redis.io/docs/latest/commands/wait/
 */
export function replicatedScript(connection: Redis, run: RunScript, replicas: number): RunScript {
  let breaks = 0;
  connection.on("close", () => {
    breaks += 1;
  });
  return async (name, keys, args) => {
    const before = breaks;
    const answer = await run(name, keys, args);
    // Not in one pipeline: a script that is sent again by its text would be written behind the wait.
    const acknowledged = await connection.wait(replicas, WAIT_MS).catch((cause: unknown) => {
      // Whatever it says, such as that it is a replica itself by now: nobody knows who has it.
      throw new StoreUnavailable("the replicas could not be asked", { cause });
    });
    // Of a connection that has written nothing, Redis says at once that everybody has it.
    if (breaks !== before) throw new StoreUnavailable("the connection broke before the replicas were asked");
    if (acknowledged < replicas)
      throw new StoreUnavailable(`${acknowledged} of ${replicas} replicas have it after ${WAIT_MS} ms`);
    return answer;
  };
}
