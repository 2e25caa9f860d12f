/** One message of an event stream. */
export interface EventMessage {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Reads server-sent events from a body; comments keep it alive and are skipped. Ends with the body. */
export async function* eventMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<EventMessage> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
        const message = readMessage(rest.slice(0, end));
        rest = rest.slice(end + 2);
        if (message !== null) yield message;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function readMessage(block: string): EventMessage | null {
  let id: string | null = null;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "id") id = value;
    else if (name === "event") event = value;
    else if (name === "data") data.push(value);
  }
  return data.length === 0 ? null : { id, event, data: data.join("\n") };
}
