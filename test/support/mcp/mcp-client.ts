import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** The official client over streamable HTTP, connected. */
export interface McpConnection {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  /** Ends its MCP session, if it has one, and closes it. */
  close(): Promise<void>;
}

/** Connects to `/mcp` of a service; `query` as in a URL, with its question mark. */
export async function connectMcp(
  url: string,
  headers: Record<string, string>,
  query = "",
): Promise<McpConnection> {
  const client = new Client({ name: "bailiff-test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`/mcp${query}`, url), {
    requestInit: { headers },
  });
  // The SDK's own declarations do not hold under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  return {
    client,
    transport,
    async close() {
      await transport.terminateSession();
      await client.close();
    },
  };
}
