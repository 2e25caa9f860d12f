import { type Readable, Transform, type Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createMcpServers } from "../mcp/mcp-server.js";
import type { CliCommand, CliWorld } from "./cli-command.js";
import { createHttpToolBackend } from "./http-tool-backend.js";
import { clientOf, SERVICE_OPTIONS, sessionChoiceOf } from "./service-options.js";
import { escapeForTerminal } from "./terminal-text.js";

/** Long enough for a service that starts anew behind the same address. */
const ATTEMPTS = 8;

/** `bailiff mcp`: the tools of one session over standard input and output, for clients that start their servers themselves. */
export function createMcpCommand(deps: {
  readonly fetch: typeof fetch;
  readonly version: string;
  readonly nowMs: () => number;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Calls back when the process is asked to end; the answer stops that. */
  readonly onTerminate: (callback: () => void) => () => void;
}): CliCommand {
  return {
    name: "mcp",
    summary: "Serve a running service's tools to an MCP client over standard input and output.",
    operands: null,
    operandsAfterDashes: false,
    options: SERVICE_OPTIONS,
    statuses: [],
    async run(call) {
      const { world } = call;
      const { session, workspace } = sessionChoiceOf(call);
      const client = await clientOf(call, deps.fetch, { attempts: ATTEMPTS });
      const bounds = await client.bounds();
      const opened =
        workspace === undefined ? null : await client.openSession(workspace, call.values["profile"] ?? null);
      const sessionId = opened ?? session ?? "";
      try {
        // Better now than at the agent's first command: a wrong key, or one that may not look at commands.
        await client.newest(sessionId);
        const over = new AbortController();
        const backend = createHttpToolBackend(client, sessionId);
        const newServer = createMcpServers({
          version: deps.version,
          bounds,
          nowMs: deps.nowMs,
          onFault: (tool, error) => complain(world, `${tool}: ${String(error)}`),
        });
        const server = newServer(() => ({ backend, signal: over.signal }));
        const input = strictUtf8();
        const ended = endOf(deps, world, input);
        deps.stdin.pipe(input);
        await server.connect(new StdioServerTransport(input, deps.stdout));
        const fault = await ended;
        over.abort();
        await server.close();
        deps.stdin.destroy();
        if (fault !== null) complain(world, fault);
        return fault === null ? 0 : 1;
      } finally {
        // Its agent has gone: what it left unfinished is cancelled with the session.
        if (opened !== null) {
          await client
            .closeSession(opened)
            .catch((error: Error) => complain(world, `the session stays open: ${error.message}`));
        }
      }
    },
  };
}

function complain(world: CliWorld, text: string): void {
  world.stderr.write(`bailiff: ${escapeForTerminal(text)}\n`);
}

/** Passes bytes on as they are, and fails where they are not UTF-8: replaced characters would be another argv. */
function strictUtf8(): Transform {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        decoder.decode(chunk, { stream: true });
        done(null, chunk);
      } catch {
        done(new Error("what came in is not UTF-8"));
      }
    },
  });
}

/** Resolves when the client has closed either stream or the process is to end: null, or what went wrong. */
function endOf(
  deps: {
    readonly stdin: Readable;
    readonly stdout: Writable;
    readonly onTerminate: (callback: () => void) => () => void;
  },
  world: CliWorld,
  input: Transform,
): Promise<string | null> {
  const releases: (() => void)[] = [];
  const ended = new Promise<string | null>((resolve) => {
    const end = () => resolve(null);
    deps.stdin.once("end", end).once("close", end).once("error", end);
    deps.stdout.once("error", end);
    input.once("error", (error: Error) => resolve(error.message));
    releases.push(world.onInterrupt(end), deps.onTerminate(end));
  });
  return ended.finally(() => {
    for (const release of releases) release();
  });
}
