import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector, Redis, type RedisOptions } from "ioredis";
import { tlsTo } from "./redis-address.js";

/** A node of a Redis Cluster, by the address that clients reach it at. */
interface Node {
  readonly host: string;
  readonly port: number;
}

const PAUSE_MS = 250;

/**
 * Makes a client's connector that connects to the primary of one key's slot, whichever node that is at the moment.
 * All keys of a deployment are in one slot, so a plain client that is moved with it does everything a client of the
 * whole cluster would, and keeps what that one blurs: one clock, one `PING`, blocking commands and no command sent twice.
 */
export function createSlotConnector(
  key: string,
  moreNodes: readonly string[],
): new (
  options: unknown,
) => AbstractConnector {
  return class SlotConnector extends AbstractConnector {
    readonly #options: RedisOptions;
    #nodes: readonly Node[];
    #turn = 0;

    constructor(options: unknown) {
      const own = options as RedisOptions;
      super(own.disconnectTimeout ?? 2_000);
      this.#options = own;
      this.#nodes = [
        { host: own.host ?? "localhost", port: own.port ?? 6379 },
        ...moreNodes.map((node) => parseNode(node)),
      ];
    }

    override async connect(tell: (type: string, error: Error) => void) {
      this.connecting = true;
      const { host, port } = await this.#findOwner(tell);
      const { tls } = this.#options;
      const stream = tls ? connectTls({ host, port, ...tlsTo(host, tls) }) : connectPlain({ host, port });
      keepHearing(stream, (error) => {
        this.firstError = error;
      });
      this.stream = stream;
      return stream;
    }

    /** Asks node after node until one knows. To reject would end the client for good. */
    async #findOwner(tell: (type: string, error: Error) => void): Promise<Node> {
      for (;;) {
        for (const _ of this.#nodes) {
          // Each time another one: a node cut off from the others goes on naming itself.
          const asked = this.#nodes[this.#turn++ % this.#nodes.length];
          const found = asked && (await this.#ask(asked).catch(() => null));
          if (!this.connecting) throw new Error("Connection is closed.");
          if (found) return found;
        }
        tell("error", Object.assign(new Error("no node of the cluster answers"), { code: "ENOOWNER" }));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (0.75 + Math.random() / 2)));
      }
    }

    async #ask(node: Node): Promise<Node | null> {
      const { username, password, tls, connectTimeout } = this.#options;
      const client = new Redis({
        ...node,
        lazyConnect: true,
        enableReadyCheck: false,
        maxRetriesPerRequest: 0,
        retryStrategy: () => null,
        connectionName: "bailiff-lookup",
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
        ...(tls === undefined ? {} : { tls: tlsTo(node.host, tls), Connector: TlsConnector }),
        ...(connectTimeout === undefined ? {} : { connectTimeout, commandTimeout: connectTimeout }),
      });
      client.on("error", () => undefined);
      try {
        await client.connect();
        const slot = Number(await client.call("CLUSTER", "KEYSLOT", key));
        const ranges = readRanges(await client.call("CLUSTER", "SLOTS"), node.host);
        // Also those that joined since: the configured ones may all be gone one day.
        const known = new Map(
          [...this.#nodes, ...ranges.flatMap(({ nodes }) => nodes)].map((each) => [
            `${each.host} ${each.port}`,
            each,
          ]),
        );
        this.#nodes = [...known.values()];
        return ranges.find(({ first, last }) => first <= slot && slot <= last)?.nodes[0] ?? null;
      } finally {
        client.disconnect();
      }
    }
  };
}

/** A client's connector to one address over TLS, as the client's own but for errors behind the first. */
export class TlsConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const own = options as RedisOptions;
    super(own.disconnectTimeout ?? 2_000);
    this.#options = own;
  }

  override async connect() {
    this.connecting = true;
    const { host = "localhost", port = 6379, tls = {} } = this.#options;
    const stream = connectTls({ host, port, ...tlsTo(host, tls) });
    keepHearing(stream, (error) => {
      this.firstError = error;
    });
    this.stream = stream;
    return stream;
  }
}

/** The client hears a stream's first error alone; a handshake can fail twice, and an error nobody hears ends the process. */
function keepHearing(stream: Socket, onError: (error: Error) => void): void {
  stream.on("error", onError);
}

function parseNode(text: string): Node {
  const colon = text.lastIndexOf(":");
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(text.slice(colon + 1)) };
}

/** `CLUSTER SLOTS`: each range with its nodes, the primary first. A node that does not know its own name has an empty one. */
function readRanges(reply: unknown, askedHost: string) {
  if (!Array.isArray(reply)) return [];
  return reply.map(([first, last, ...nodes]: unknown[]) => ({
    first: Number(first),
    last: Number(last),
    nodes: (nodes as [string | null, number][]).map(([host, port]) => ({
      host: host || askedHost,
      port: Number(port),
    })),
  }));
}
