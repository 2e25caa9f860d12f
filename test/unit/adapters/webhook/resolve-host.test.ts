import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { resolveHost } from "../../../../src/adapters/webhook/resolve-host.js";

describe("the resolution of a name", () => {
  it("ends in time where the name server never answers (FB-22)", async () => {
    const silent = createSocket("udp4");
    silent.bind(0, "127.0.0.1");
    await once(silent, "listening");
    const servers = [`127.0.0.1:${silent.address().port}`];
    await expect(resolveHost("receiver.test", 300, servers)).rejects.toThrow();
    silent.close();
  });

  it("rejects a name that nobody can have", async () => {
    await expect(resolveHost("nobody.invalid", 2_000)).rejects.toThrow();
  });
});
