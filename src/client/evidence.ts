import { itemsOf } from "./pages.js";
import { segmentOf } from "./path-segment.js";
import type { CallOptions, Transport } from "./transport.js";
import type { AuditPage, AuditQuery, CommandEvidence } from "./wire.js";

/** What is kept as evidence. */
export interface Evidence {
  /** The records of one command so far, oldest first. */
  ofCommand(commandId: string, options?: CallOptions): Promise<CommandEvidence>;
  /** The tenant's evidence, oldest first, page after page: records and the checkpoints among them. */
  pages(query?: AuditQuery, options?: CallOptions): AsyncIterable<AuditPage>;
}

/** The evidence of one service. */
export function createEvidence(transport: Transport): Evidence {
  return {
    async ofCommand(commandId, options) {
      const path = `/v1/commands/${segmentOf(commandId)}/evidence`;
      return (await transport.json({ method: "GET", path, repeatable: true }, options)) as CommandEvidence;
    },
    pages: (query = {}, options) =>
      itemsOf(
        async (cursor) =>
          (await transport.json(
            { method: "GET", path: "/v1/audit", query: { ...query, cursor }, repeatable: true },
            options,
          )) as AuditPage,
        (page) => [page],
        query.cursor,
      ),
  };
}
