import type { Redis } from "ioredis";

/**
 * Hears what is published on some channels, on a connection that others hear theirs on too, anew whenever that has reconnected;
 * `onSubscribed` is called each time. Where Redis does not let us, nothing is heard. Until the answer is called.
 */
export function hearChannels(
  subscriber: Redis,
  channels: readonly string[],
  onMessage: (channel: string, message: string) => void,
  onSubscribed: () => void = () => undefined,
): () => void {
  const subscribe = () => {
    // The connection broke meanwhile and `ready` comes again, or we may not subscribe: then polling has to do.
    subscriber.subscribe(...channels).then(onSubscribed, () => undefined);
  };
  const hear = (channel: string, message: string) => {
    if (channels.includes(channel)) onMessage(channel, message);
  };
  subscriber.on("ready", subscribe);
  subscriber.on("message", hear);
  if (subscriber.status === "ready") subscribe();
  return () => {
    subscriber.off("ready", subscribe);
    subscriber.off("message", hear);
    subscriber.unsubscribe(...channels).catch(() => undefined);
  };
}
