/** One message of a stream of server-sent events. */
export interface EventMessage {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Behind this, a line or a message is not one of this service's. */
const MAX_PENDING_CHARS = 1 << 20;

/** Reads a stream as the HTML standard has it. Ends with the stream; `onSign` hears every sign of life, `onRetry` the pause that is asked for. */
export async function* readEventMessages(
  body: ReadableStream<Uint8Array>,
  hear: { readonly onSign?: () => void; readonly onRetry?: (ms: number) => void } = {},
): AsyncGenerator<EventMessage> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let fields: { id: string | null; event: string; data: string[] } = { id: null, event: "", data: [] };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      hear.onSign?.();
      text += decoder.decode(value, { stream: true });
      if (text.length > MAX_PENDING_CHARS) throw new Error("a line of the event stream is too long");
      for (let end = lineEnd(text); end !== null; end = lineEnd(text)) {
        const line = text.slice(0, end.at);
        text = text.slice(end.next);
        if (line === "") {
          if (fields.data.length > 0)
            yield { id: fields.id, event: fields.event || "message", data: fields.data.join("\n") };
          fields = { id: null, event: "", data: [] };
          continue;
        }
        const [name, content] = fieldOf(line);
        if (name === "id") fields.id = content;
        else if (name === "event") fields.event = content;
        else if (name === "data") fields.data.push(content);
        else if (name === "retry" && /^[0-9]{1,6}$/.test(content)) hear.onRetry?.(Number(content));
      }
    }
  } finally {
    // It may be broken already, or be read by nobody any more.
    await reader.cancel().catch(() => undefined);
  }
}

/** A carriage return at the very end may be half of a line end: it waits for what follows. */
function lineEnd(text: string): { at: number; next: number } | null {
  const at = text.search(/[\r\n]/);
  if (at === -1) return null;
  if (text[at] === "\n") return { at, next: at + 1 };
  if (at + 1 === text.length) return null;
  return { at, next: text[at + 1] === "\n" ? at + 2 : at + 1 };
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  if (colon === -1) return [line, ""];
  const content = line.slice(colon + 1);
  return [line.slice(0, colon), content.startsWith(" ") ? content.slice(1) : content];
}
