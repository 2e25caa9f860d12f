import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { root } from "./paths.mjs";

/**
 * Runs `work` while no other set-up of this checkout runs. The lock is an abstract Unix socket: the kernel gives it
 * to one process and takes it back when that process dies, so there is never a stale one to judge.
 */
export async function withSetupLock(progress, work, { name = root, pollMs = 500 } = {}) {
  // Other systems have no abstract sockets; the single steps replace their products atomically there too.
  if (process.platform !== "linux") return work();
  const address = `\0bailiff-setup-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
  let told = false;
  for (;;) {
    const held = await listen(address);
    if (held) {
      try {
        return await work();
      } finally {
        await new Promise((resolve) => held.close(resolve));
      }
    }
    if (!told) progress.note("Waiting for another set-up of this checkout to finish");
    told = true;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

function listen(address) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.unref();
    server.once("error", (error) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen({ path: address }, () => resolve(server));
  });
}
