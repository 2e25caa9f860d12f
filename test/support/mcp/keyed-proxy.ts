import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that adds headers, for programs that can't be told to send any. */
export interface KeyedProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on a free port of the loopback; everything else of a request goes on as it came, `Host` and `Origin` too. */
export async function startKeyedProxy(target: string, headers: Record<string, string>): Promise<KeyedProxy> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const onward = request(
      {
        hostname,
        port,
        method: incoming.method ?? "GET",
        path: incoming.url ?? "/",
        headers: { ...incoming.headers, ...headers },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
