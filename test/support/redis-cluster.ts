import { Redis } from "ioredis";
import { findFreePort, type RedisServer, startRedisServer } from "./redis-server.js";
import { until } from "./until.js";

const SLOTS = 16_384;

/** Primaries that share the slots, and one node more that is the replica of none until it is told to be. */
export interface RedisCluster {
  readonly primaries: readonly RedisServer[];
  readonly spare: RedisServer;
  /** The primary whose slot a key is in. */
  ownerOf(key: string): Promise<RedisServer>;
  /** Makes the spare node a replica of a primary and has it take over. */
  failOver(primary: RedisServer): Promise<void>;
  stop(): Promise<void>;
}

/** Starts three primaries and a spare node on 127.0.0.1 and resolves once all of them agree. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  for (let i = 0; i < 4; i += 1) {
    nodes.push(
      await startRedisServer({
        "cluster-enabled": "yes",
        // The default is the port plus 10,000, which is none for many a free port.
        "cluster-port": String(await findFreePort()),
        "cluster-node-timeout": "15000",
      }),
    );
  }
  const [spare, ...primaries] = nodes as [RedisServer, ...RedisServer[]];
  const clients = new Map(nodes.map((node) => [node, new Redis(node.url)]));
  const ask = (node: RedisServer, ...words: string[]) => clientOf(node).call("CLUSTER", words);
  const clientOf = (node: RedisServer): Redis => {
    const client = clients.get(node);
    if (client === undefined) throw new Error("not a node of this cluster");
    return client;
  };
  const info = async (node: RedisServer) => String(await ask(node, "INFO"));

  const width = Math.ceil(SLOTS / primaries.length);
  for (const [i, node] of primaries.entries()) {
    const [first, last] = [i * width, Math.min(SLOTS, (i + 1) * width) - 1];
    await ask(node, "ADDSLOTSRANGE", String(first), String(last));
  }
  for (const node of nodes) {
    const bus = /cluster-port\n(\d+)/.exec(
      ((await clientOf(node).config("GET", "cluster-port")) as string[]).join("\n"),
    )?.[1];
    if (node !== spare) await ask(spare, "MEET", node.host, String(node.port), bus ?? "");
  }
  await until(async () => {
    const all = await Promise.all(nodes.map(info));
    return all.every(
      (text) => text.includes("cluster_state:ok") && text.includes(`cluster_known_nodes:${nodes.length}`),
    );
  });

  return {
    primaries,
    spare,
    async ownerOf(key) {
      const slot = Number(await ask(spare, "KEYSLOT", key));
      const ranges = (await ask(spare, "SLOTS")) as [number, number, [string, number]][];
      const port = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][1];
      const owner = nodes.find((node) => node.port === port);
      if (owner === undefined) throw new Error(`nobody holds slot ${slot}`);
      return owner;
    },
    async failOver(primary) {
      await ask(spare, "REPLICATE", String(await ask(primary, "MYID")));
      await until(async () => (await clientOf(spare).info("replication")).includes("master_link_status:up"));
      await ask(spare, "FAILOVER");
      await until(async () => (await clientOf(spare).info("replication")).includes("role:master"));
    },
    async stop() {
      for (const client of clients.values()) client.disconnect();
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}
