import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A way to a TCP server that a test can cut. */
export interface TcpProxy {
  readonly port: number;
  /** From now on nothing passes in either direction, and new connections are accepted and stay silent, as behind a dropping router. */
  cut(): void;
  /** From now on what is sent arrives and what is answered does not. */
  cutAnswers(): void;
  /** Ends the connections that were cut; new ones pass. */
  heal(): void;
  close(): Promise<void>;
}

/** A proxy on 127.0.0.1 before a server on the same host. */
export async function createTcpProxy(targetPort: number): Promise<TcpProxy> {
  let passes: "both" | "requests" | "nothing" = "both";
  const pairs = new Set<{ near: Socket; far: Socket | null; isCut: boolean }>();
  const server = createServer((near) => {
    const pair = { near, far: null as Socket | null, isCut: passes === "nothing" };
    pairs.add(pair);
    near.on("error", () => near.destroy());
    near.on("close", () => {
      pair.far?.destroy();
      pairs.delete(pair);
    });
    if (pair.isCut) {
      near.resume();
      return;
    }
    const far = connect({ host: "127.0.0.1", port: targetPort });
    pair.far = far;
    far.on("error", () => near.destroy());
    far.on("close", () => near.destroy());
    near.on("data", (chunk: Buffer) => {
      if (passes !== "nothing") far.write(chunk);
      else pair.isCut = true;
    });
    far.on("data", (chunk: Buffer) => {
      if (passes === "both") near.write(chunk);
      else pair.isCut = true;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("No port was assigned");
  return {
    port: address.port,
    cut() {
      passes = "nothing";
      for (const pair of pairs) pair.isCut = true;
    },
    cutAnswers() {
      passes = "requests";
      for (const pair of pairs) pair.isCut = true;
    },
    heal() {
      passes = "both";
      for (const pair of pairs) if (pair.isCut) pair.near.destroy();
    },
    async close() {
      for (const pair of pairs) pair.near.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
