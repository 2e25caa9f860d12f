import type { Redis } from "ioredis";
import { orUnavailable } from "./store-failure.js";

/** Runs a pipeline and answers its replies in order. Rejects with the first error of any of its commands. */
export async function runPipeline(pipeline: ReturnType<Redis["pipeline"]>): Promise<unknown[]> {
  return orUnavailable(async () => {
    const replies = (await pipeline.exec()) ?? [];
    return replies.map(([error, reply]) => {
      if (error !== null) throw error;
      return reply;
    });
  });
}
