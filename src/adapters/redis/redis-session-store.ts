import type { Redis } from "ioredis";
import type { Session } from "../../domain/session.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import type { RunScript } from "./scripts.js";
import { readLabel, readSession, writeLabel, writeSession } from "./session-format.js";
import { orUnavailable } from "./store-failure.js";

/** Sessions as one hash each; what a grant has left are fields of it, which admission takes from. */
export function createRedisSessionStore(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly runScript: RunScript;
}): SessionStore {
  const { redis, keys } = deps;

  const get = async (tenant: string, sessionId: string): Promise<Session | null> => {
    const session = readSession(await orUnavailable(() => redis.hgetall(keys.session(sessionId))));
    return session?.tenant === tenant ? session : null;
  };

  return {
    async create(session) {
      await deps.runScript(
        "create-session",
        [
          keys.session(session.id),
          keys.tenantSessions(session.tenant),
          keys.workspaceSessions(session.tenant, session.workspaceId),
        ],
        [session.id, ...Object.entries(writeSession(session)).flat()],
      );
    },

    get,

    async list(tenant, limit, cursor) {
      const ids = await orUnavailable(() =>
        redis.zrevrangebylex(
          keys.tenantSessions(tenant),
          cursor === null ? "+" : `(${cursor}`,
          "-",
          "LIMIT",
          0,
          limit + 1,
        ),
      );
      const page = ids.slice(0, limit);
      const pipeline = redis.pipeline();
      for (const id of page) pipeline.hgetall(keys.session(id));
      const sessions = ((await runPipeline(pipeline)) as Record<string, string>[])
        .map(readSession)
        .filter((session) => session !== null);
      return { sessions, nextCursor: ids.length > limit ? (page.at(-1) ?? null) : null };
    },

    async ofWorkspace(tenant, workspaceId) {
      return orUnavailable(() => redis.smembers(keys.workspaceSessions(tenant, workspaceId)));
    },

    async setCwd(tenant, sessionId, cwd) {
      return (await deps.runScript("set-cwd", [keys.session(sessionId)], [tenant, cwd])) === 1;
    },

    async revoke(tenant, sessionId) {
      return (await deps.runScript("revoke-session", [keys.session(sessionId)], [tenant])) === 1;
    },

    async objectLabels(tenant, sessionId, objectIds) {
      if (objectIds.length === 0) return [];
      const rows = await orUnavailable(() => redis.hmget(keys.sessionObjects(sessionId), ...objectIds));
      return rows.map((text) => {
        const label = text === null ? null : readLabel(text);
        // A session's id is not yet a right to its objects.
        return label?.tenant === tenant ? label : null;
      });
    },

    async putObject({ tenant, sessionId, objectId, expected, label, maxObjects }) {
      const reply = await deps.runScript(
        "put-object",
        [keys.session(sessionId), keys.sessionObjects(sessionId)],
        [
          tenant,
          objectId,
          expected === null ? "" : writeLabel(expected),
          writeLabel(label),
          String(maxObjects),
        ],
      );
      return reply as Awaited<ReturnType<SessionStore["putObject"]>>;
    },

    async remove(tenant, sessionId) {
      const session = await get(tenant, sessionId);
      if (session === null) return null;
      const reply = await deps.runScript(
        "remove-session",
        [
          keys.session(sessionId),
          keys.sessionOpen(sessionId),
          keys.tenantSessions(tenant),
          keys.workspaceSessions(tenant, session.workspaceId),
          keys.sessionObjects(sessionId),
        ],
        [sessionId, tenant],
      );
      return Array.isArray(reply) ? reply.map(String) : null;
    },
  };
}
