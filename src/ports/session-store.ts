import type { Session } from "../domain/session.js";

/** Sessions of all tenants. Rejects with StoreUnavailable. */
export interface SessionStore {
  create(session: Session): Promise<void>;
  get(tenant: string, sessionId: string): Promise<Session | null>;
  list(
    tenant: string,
    limit: number,
    cursor: string | null,
  ): Promise<{ sessions: readonly Session[]; nextCursor: string | null }>;
  /** Ids of the sessions that use a workspace. */
  ofWorkspace(tenant: string, workspaceId: string): Promise<readonly string[]>;
  /** False when the session is gone. */
  setCwd(tenant: string, sessionId: string, cwd: string): Promise<boolean>;
  /** Revokes the grant and removes the session in one step; the ids of its commands that had not finished. Null when it is gone. */
  remove(tenant: string, sessionId: string): Promise<readonly string[] | null>;
}
