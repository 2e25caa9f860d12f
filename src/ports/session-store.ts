import type { Label } from "../domain/data-flow/label.js";
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
  /** Revokes the grant at once; idempotent. False when the session is gone. */
  revoke(tenant: string, sessionId: string): Promise<boolean>;
  /** Labels of source objects in the order of their ids; null for one that is not there. */
  objectLabels(
    tenant: string,
    sessionId: string,
    objectIds: readonly string[],
  ): Promise<readonly (Label | null)[]>;
  /** Compare-and-set of a source object's label; `expected` null where there must be none yet. */
  putObject(change: {
    readonly tenant: string;
    readonly sessionId: string;
    readonly objectId: string;
    readonly expected: Label | null;
    readonly label: Label;
    readonly maxObjects: number;
  }): Promise<"done" | "changed_meanwhile" | "too_many" | "session_gone">;
  /** Revokes the grant and removes the session in one step; the ids of its commands that had not finished. Null when it is gone. */
  remove(tenant: string, sessionId: string): Promise<readonly string[] | null>;
}
