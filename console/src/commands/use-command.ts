import { useEffect } from "preact/hooks";
import { readEventMessages } from "../../../src/client/event-messages.js";
import { type Loaded, useApi, usePolled } from "../api/use-api.js";
import type { CommandWire } from "../api/wire.js";

/** Behind the events; also what follows a command where the stream can't be had. */
const EVERY_MS = 5_000;
const AGAIN_MS = 2_000;

/** One command, followed by its events until it has ended. */
export function useCommand(id: string): Loaded<CommandWire> {
  const api = useApi();
  const loaded = usePolled<CommandWire>(id, EVERY_MS, (signal) => api.get(`/v1/commands/${id}`, signal));
  const isOpen = loaded.value !== null && loaded.value.state !== "finished";
  const { reload } = loaded;

  useEffect(() => {
    if (!isOpen) return;
    const controller = new AbortController();
    const follow = async () => {
      let lastId: string | null = null;
      while (!controller.signal.aborted) {
        try {
          const response = await api.stream(`/v1/commands/${id}/events`, lastId, controller.signal);
          if (response.status === 204 || response.body === null) return;
          for await (const message of readEventMessages(response.body)) {
            lastId = message.id ?? lastId;
            reload();
          }
        } catch {
          // The stream broke or was refused: the listing goes on, and the stream is tried again.
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    void follow();
    return () => controller.abort();
  }, [id, isOpen, api]);
  return loaded;
}
