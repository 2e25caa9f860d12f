import type { SessionWire } from "../contract/sessions.js";
import type { SourceObjectWire } from "../contract/source-objects.js";
import { itemsOf } from "./pages.js";
import { segmentOf } from "./path-segment.js";
import type { CallOptions, Transport } from "./transport.js";
import type { CreatedSession, SessionBody, SessionPage, SessionQuery, SourceObjectBody } from "./wire.js";

/** What can be done with sessions. */
export interface Sessions {
  /** Opens one. Never repeated: after NoAnswer there may be one that nobody uses; see `list`. */
  open(body: SessionBody, options?: CallOptions): Promise<CreatedSession>;
  get(sessionId: string, options?: CallOptions): Promise<SessionWire>;
  /** Every session, newest first, page after page. */
  list(query?: SessionQuery, options?: CallOptions): AsyncIterable<SessionWire>;
  /** One page of them. */
  page(query?: SessionQuery, options?: CallOptions): Promise<SessionPage>;
  /** Chooses where its next commands run. Repeated only where the path is absolute: `..` twice is another place than once. */
  setCwd(sessionId: string, path: string, options?: CallOptions): Promise<SessionWire>;
  /** Takes away its authority at once; it stays readable. */
  revoke(sessionId: string, options?: CallOptions): Promise<SessionWire>;
  /** Closes it and cancels what has not finished. */
  close(sessionId: string, options?: CallOptions): Promise<void>;
  /** Says how sensitive something is that the agent read; a label may only rise. */
  putObject(
    sessionId: string,
    objectId: string,
    label: SourceObjectBody,
    options?: CallOptions,
  ): Promise<SourceObjectWire>;
  getObject(sessionId: string, objectId: string, options?: CallOptions): Promise<SourceObjectWire>;
}

const pathOf = (sessionId: string) => `/v1/sessions/${segmentOf(sessionId)}`;
const objectPathOf = (sessionId: string, objectId: string) =>
  `${pathOf(sessionId)}/objects/${segmentOf(objectId)}`;

/** The sessions of one service. */
export function createSessions(transport: Transport): Sessions {
  const page: Sessions["page"] = async (query = {}, options) =>
    (await transport.json(
      { method: "GET", path: "/v1/sessions", query, repeatable: true },
      options,
    )) as SessionPage;
  return {
    page,
    async open(body, options) {
      const request = { method: "POST", path: "/v1/sessions", body, repeatable: false };
      return (await transport.json(request, options)) as CreatedSession;
    },
    async get(sessionId, options) {
      const request = { method: "GET", path: pathOf(sessionId), repeatable: true };
      return (await transport.json(request, options)) as SessionWire;
    },
    list: (query = {}, options) =>
      itemsOf(
        (cursor) => page({ ...query, cursor }, options),
        ({ sessions }) => sessions,
        query.cursor,
      ),
    async setCwd(sessionId, path, options) {
      const request = {
        method: "PUT",
        path: `${pathOf(sessionId)}/cwd`,
        body: { path },
        repeatable: path.startsWith("/"),
      };
      return (await transport.json(request, options)) as SessionWire;
    },
    async revoke(sessionId, options) {
      const request = { method: "POST", path: `${pathOf(sessionId)}/revoke`, repeatable: false };
      return (await transport.json(request, options)) as SessionWire;
    },
    async close(sessionId, options) {
      await transport.json({ method: "DELETE", path: pathOf(sessionId), repeatable: false }, options);
    },
    async putObject(sessionId, objectId, label, options) {
      const path = objectPathOf(sessionId, objectId);
      const request = { method: "PUT", path, body: label, repeatable: true };
      return (await transport.json(request, options)) as SourceObjectWire;
    },
    async getObject(sessionId, objectId, options) {
      const request = { method: "GET", path: objectPathOf(sessionId, objectId), repeatable: true };
      return (await transport.json(request, options)) as SourceObjectWire;
    },
  };
}
