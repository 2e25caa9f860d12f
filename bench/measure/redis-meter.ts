import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";

/** What Redis counts about itself; differences of two readings mean something. */
export interface RedisReading {
  /** Requests of clients and calls inside scripts together. */
  readonly operations: number;
  readonly inBytes: number;
  readonly outBytes: number;
  /** Of the whole server; nearly all of it is the one thread that runs commands. */
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

/** What one piece of work asked of Redis. */
export interface Asked {
  /** What clients sent, by its name, scripts as `evalsha`. */
  readonly requests: ReadonlyMap<string, number>;
  readonly callsInScripts: number;
}

/** Reads a server's own counters. */
export interface RedisMeter {
  read(): Promise<RedisReading>;
  /** Counts by `MONITOR` what is asked while the work runs. It slows the server: not for times or bandwidth. */
  watch(work: () => Promise<unknown>): Promise<Asked>;
  /** Connections that Bailiff's processes hold. */
  connections(): Promise<number>;
  close(): void;
}

/** Opens a meter on a server. */
export function createRedisMeter(url: string): RedisMeter {
  const { hostname, port } = new URL(url);
  const redis = new Redis(url, { connectionName: "meter" });
  return {
    async read() {
      const text = await redis.info();
      const of = (field: string) => Number(new RegExp(`^${field}:([\\d.]+)`, "m").exec(text)?.[1]);
      return {
        operations: of("total_commands_processed"),
        inBytes: of("total_net_input_bytes"),
        outBytes: of("total_net_output_bytes"),
        cpuMs: 1_000 * (of("used_cpu_user") + of("used_cpu_sys")),
        memoryBytes: of("used_memory"),
      };
    },
    async watch(work) {
      const requests = new Map<string, number>();
      let callsInScripts = 0;
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      const lines = createInterface({ input: socket });
      const begun = once(lines, "line");
      // By hand, as the client takes what is told before its own answer for a reply.
      socket.write("MONITOR\r\n");
      await begun;
      lines.on("line", (line) => {
        const [, source, name = ""] = /^\+[\d.]+ \[\d+ (\S+)\] "([^"]*)"/.exec(line) ?? [];
        if (source === "lua") callsInScripts += 1;
        else if (source !== undefined)
          requests.set(name.toLowerCase(), (requests.get(name.toLowerCase()) ?? 0) + 1);
      });
      try {
        await work();
      } finally {
        lines.close();
        socket.destroy();
      }
      return { requests, callsInScripts };
    },
    async connections() {
      const list = String(await redis.client("LIST"));
      return list.split("\n").filter((line) => line !== "" && !line.includes("name=meter")).length;
    },
    close: () => redis.disconnect(),
  };
}
