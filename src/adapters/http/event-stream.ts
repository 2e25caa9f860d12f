import { Readable } from "node:stream";

/** Behind this, messages wait for a client that does not read, and it is closed instead. */
const MAX_BUFFERED_BYTES = 16_384;

/** One stream of server-sent events, to be sent as an answer's body. */
export interface EventStream {
  readonly body: Readable;
  /** Appends a message. A client that leaves too much of them unread is cut off. */
  send(message: string): void;
  /** Ends it in good order. Idempotent. */
  end(): void;
}

/** Opens a stream that says at once how soon to come back when it breaks, then comments for as long as nothing else is said. */
export function openEventStream(heartbeatMs: number): EventStream {
  const body = new Readable({ read: () => undefined });
  const send = (message: string) => {
    if (body.destroyed || body.readableEnded) return;
    if (body.readableLength > MAX_BUFFERED_BYTES) {
      body.destroy(new Error("the client of an event stream does not read"));
      return;
    }
    body.push(message);
  };
  send("retry: 1000\n\n");
  const timer = setInterval(() => send(":\n\n"), heartbeatMs);
  body.once("close", () => clearInterval(timer));
  let isOver = false;
  return {
    body,
    send(message) {
      if (!isOver) send(message);
    },
    end() {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      if (!body.destroyed) body.push(null);
    },
  };
}
