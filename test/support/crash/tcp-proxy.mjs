import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * A way to a Redis server that can be cut from one moment to the next, inside the process that uses it.
 * `cut`: nothing passes in either direction, and new connections are accepted and stay silent, as behind a dropping
 * router. `cutAnswers`: what is sent arrives and what is answered does not. `heal`: connections that were cut end, and
 * new ones pass.
 */
export async function createTcpProxy(targetPort) {
  let passes = "both";
  const pairs = new Set();
  const server = createServer((near) => {
    const pair = { near, isCut: passes === "nothing" };
    pairs.add(pair);
    near.on("error", () => near.destroy());
    near.on("close", () => pairs.delete(pair));
    if (pair.isCut) {
      near.resume();
      return;
    }
    const far = connect({ host: "127.0.0.1", port: targetPort });
    near.on("close", () => far.destroy());
    far.on("error", () => near.destroy());
    far.on("close", () => near.destroy());
    near.on("data", (chunk) => {
      if (passes !== "nothing") far.write(chunk);
    });
    far.on("data", (chunk) => {
      if (passes === "both") near.write(chunk);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const change = (next) => {
    passes = next;
    for (const pair of pairs) pair.isCut = true;
  };
  return {
    port: server.address().port,
    cut: () => change("nothing"),
    cutAnswers: () => change("requests"),
    heal() {
      passes = "both";
      for (const { near, isCut } of pairs) if (isCut) near.destroy();
    },
  };
}
