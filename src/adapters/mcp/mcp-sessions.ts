import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { BailiffError } from "../../domain/errors.js";
import type { Principal } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";

/** One MCP session: a client's connection to the tools, of one principal and for one Bailiff session. */
export interface McpSession {
  readonly id: string;
  readonly principal: Principal;
  readonly bailiffSessionId: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
}

/** The open MCP sessions of this process: bounded in number, and ended when nobody uses them. */
export interface McpSessions {
  /** Ends the tenant's longest idle one to make room; throws `overloaded` where none is idle, or the process is full. */
  makeRoom(tenant: string): void;
  add(session: McpSession): void;
  /** Null for one that is not there and for another principal's: the two look alike. */
  find(id: string, principal: Principal): McpSession | null;
  /** Keeps the session from being idle until the returned function is called. */
  use(id: string): () => void;
  end(id: string): void;
  /** Ends those that were not used for the idle limit. */
  endIdle(): void;
  endAll(): void;
}

/** Bounds on MCP sessions. */
export interface McpSessionBounds {
  readonly perProcess: number;
  readonly perTenant: number;
  readonly idleMs: number;
}

interface Entry {
  readonly session: McpSession;
  lastUsedMs: number;
  uses: number;
}

/** Builds an empty registry. */
export function createMcpSessions(deps: {
  readonly clock: Clock;
  readonly bounds: McpSessionBounds;
  readonly onFault: (error: unknown) => void;
}): McpSessions {
  const { clock, bounds } = deps;
  const entries = new Map<string, Entry>();
  const end = (id: string): void => {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    entry.session.server.close().catch(deps.onFault);
  };
  return {
    makeRoom(tenant) {
      const own = [...entries.values()].filter(({ session }) => session.principal.tenant === tenant);
      if (own.length < bounds.perTenant && entries.size < bounds.perProcess) return;
      const idle = own.filter(({ uses }) => uses === 0).sort((a, b) => a.lastUsedMs - b.lastUsedMs)[0];
      if (idle === undefined) {
        throw new BailiffError("overloaded", "too many MCP sessions are open", { retryAfterMs: 5_000 });
      }
      end(idle.session.id);
    },
    add(session) {
      entries.set(session.id, { session, lastUsedMs: clock.nowMs(), uses: 0 });
    },
    find(id, principal) {
      const session = entries.get(id)?.session;
      if (session === undefined) return null;
      const owner = session.principal;
      const isOwner =
        owner.id === principal.id && owner.tenant === principal.tenant && owner.method === principal.method;
      return isOwner ? session : null;
    },
    use(id) {
      const entry = entries.get(id);
      if (entry === undefined) return () => undefined;
      entry.uses += 1;
      return () => {
        entry.uses -= 1;
        entry.lastUsedMs = clock.nowMs();
      };
    },
    end,
    endIdle() {
      const beforeMs = clock.nowMs() - bounds.idleMs;
      for (const [id, { uses, lastUsedMs }] of entries) if (uses === 0 && lastUsedMs <= beforeMs) end(id);
    },
    endAll() {
      for (const id of [...entries.keys()]) end(id);
    },
  };
}
