import { Redis } from "ioredis";
import { afterEach, describe, expect, it } from "vitest";
import { type RedisServer, startRedisServer } from "../../support/redis-server.js";

describe("the private redis-server of a test", () => {
  const servers: RedisServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
  });

  it("refuses to evict, keeps a write through a kill and a restart, and answers again after a pause", async () => {
    const server = await startRedisServer({ appendfsync: "always" });
    servers.push(server);
    const client = new Redis(server.url, { lazyConnect: true, maxRetriesPerRequest: null });
    client.on("error", () => {});
    try {
      await client.connect();
      expect(await client.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
      await client.set("kept", "yes");
      await server.kill();
      await server.restart();
      expect(await client.get("kept")).toBe("yes");

      server.pause();
      const answer = client.get("kept");
      const first = await Promise.race([
        answer,
        new Promise<string>((resolve) => setTimeout(() => resolve("silent"), 300)),
      ]);
      expect(first).toBe("silent");
      server.resume();
      expect(await answer).toBe("yes");
    } finally {
      client.disconnect();
    }
  });

  it("is two servers when started twice", async () => {
    servers.push(await startRedisServer(), await startRedisServer());
    expect(servers[0]?.port).not.toBe(servers[1]?.port);
  });
});
