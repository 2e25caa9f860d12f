import { type Job, Worker } from "bullmq";
import type { Envelope } from "./bullmq-command-queue.js";

/** BullMQ's worker, which also tells of every fetch that Redis answered, with an entry or without. */
export class FetchTrackingWorker extends Worker<Envelope, void, string> {
  onFetched: () => void = () => undefined;

  protected override async moveToActive(token: string, name?: string): Promise<Job<Envelope, void, string>> {
    const job = await super.moveToActive(token, name);
    this.onFetched();
    return job;
  }
}
