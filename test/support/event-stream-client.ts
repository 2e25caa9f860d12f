import { until } from "./until.js";

/** One message of a stream, as an EventSource would see it. */
export interface StreamedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** A client of one event stream. */
export interface StreamClient {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly StreamedEvent[];
  /** Everything received so far. */
  text(): string;
  /** Resolves once an event of this name has come. */
  until(event: string): Promise<void>;
  /** Resolves once the server has ended the stream. */
  ended(): Promise<void>;
  /** Drops the connection. */
  leave(): void;
}

/** Opens a stream and reads it in the background. */
export async function followStream(url: string, key: string, lastEventId?: number): Promise<StreamClient> {
  const leaving = new AbortController();
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) }),
    },
    signal: leaving.signal,
  });
  const events: StreamedEvent[] = [];
  let text = "";
  let parsed = 0;
  const take = (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n", parsed); end !== -1; end = text.indexOf("\n\n", parsed)) {
      const lines = text.slice(parsed, end).split("\n");
      parsed = end + 2;
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
      if (field("data") !== "") events.push({ id: field("id"), event: field("event"), data: field("data") });
    }
  };
  let isOver = false;
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) take(decoder.decode(chunk, { stream: true }));
  })()
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  return {
    status: response.status,
    headers: response.headers,
    events,
    text: () => text,
    until: (event) =>
      until(async () => {
        if (events.some((one) => one.event === event)) return true;
        if (isOver) throw new Error(`the stream ended without ${event}:\n${text}`);
        return false;
      }),
    ended: () => reading,
    leave: () => leaving.abort(),
  };
}
