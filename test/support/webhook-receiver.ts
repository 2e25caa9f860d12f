import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "./receiver-certificate.js";

/** One request that a receiver got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A real HTTP(S) server that keeps what it gets. */
export interface Receiver {
  readonly port: number;
  readonly url: string;
  readonly received: readonly Received[];
  stop(): Promise<void>;
}

/** Starts one; `answer` is asked for every request once its body is there, and answers 200 unless told. */
export async function startReceiver(
  options: {
    readonly tls?: boolean;
    readonly host?: string;
    readonly port?: number;
    readonly answer?: (response: ServerResponse, request: Received, count: number) => void;
  } = {},
): Promise<Receiver> {
  const received: Received[] = [];
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      const one = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      received.push(one);
      if (options.answer) options.answer(response, one, received.length);
      else response.end("ok");
    });
  };
  const server = options.tls
    ? createTlsServer({ cert: RECEIVER_CERTIFICATE, key: RECEIVER_KEY }, onRequest)
    : createServer(onRequest);
  const host = options.host ?? "127.0.0.1";
  server.listen(options.port ?? 0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${options.tls ? "https" : "http"}://${host}:${port}/hook`,
    received,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
