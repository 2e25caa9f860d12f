/** What travels through the queue: a command's id, nothing else. */
export interface QueueEntry {
  readonly commandId: string;
  readonly priority: number;
}

/** The entries of one pool's queue. */
export interface PoolDepth {
  readonly pool: string;
  /** In front, without a priority: entries that were put back. */
  readonly waiting: number;
  readonly prioritized: number;
  /** Held by workers. */
  readonly active: number;
  readonly delayed: number;
}

/** The sending side. */
export interface CommandQueue {
  /** Idempotent on the command id. Rejects with StoreUnavailable. */
  enqueue(pool: string, entry: QueueEntry): Promise<void>;
  /** Remove an entry that no worker holds; true when it was there. */
  withdraw(pool: string, commandId: string): Promise<boolean>;
  /** Waiting and active entries. */
  depth(pool: string): Promise<{ waiting: number; active: number }>;
  /** The depths of several pools in one question, in their order. */
  depths(pools: readonly string[]): Promise<readonly PoolDepth[]>;
}

/** The answer of a handler: `done` acknowledges, `give_back` puts the entry back untouched. */
export type HandlerAnswer = "done" | "give_back";

/** The receiving side: calls the handler for each entry, up to `concurrency` at once. */
export interface QueueConsumer {
  start(handler: (commandId: string) => Promise<HandlerAnswer>): Promise<void>;
  /** Take no more; resolves when nothing is in the handlers. */
  drain(): Promise<void>;
  close(): Promise<void>;
  /** False when no fetch has succeeded for a while though there was room. */
  isFetching(): boolean;
}
