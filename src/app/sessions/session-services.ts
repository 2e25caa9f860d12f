import { initialLabel } from "../../domain/data-flow/data-flow.js";
import type { SessionGrant } from "../../domain/decision/grant.js";
import { UNBOUNDED_SESSION } from "../../domain/decision/session-budget.js";
import { BailiffError } from "../../domain/errors.js";
import type { Session } from "../../domain/session.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";
import type { PolicySource } from "../../ports/policy-source.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { WorkspaceStore } from "../../ports/workspace-store.js";
import { notFound, requireId, requireName, requireScope } from "../access.js";
import { findProfile } from "../decide/profile-catalog.js";
import type { BailiffServices } from "../services.js";
import { acceptWebhook, type WebhookTerms } from "../webhooks/webhook-terms.js";
import { usable } from "../workspaces/workspace-services.js";
import { resolveCwd } from "./resolve-cwd.js";

/** Use cases on sessions. Deleting a session cancels what it had not finished. */
export function createSessionServices(deps: {
  readonly sessions: SessionStore;
  readonly workspaces: WorkspaceStore;
  readonly policy: PolicySource;
  readonly images: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly defaultProfile: string;
  readonly defaultGrant: SessionGrant;
  readonly webhookTerms: WebhookTerms;
  readonly cancel: (commandId: string) => Promise<unknown>;
}): Pick<
  BailiffServices,
  "createSession" | "getSession" | "listSessions" | "deleteSession" | "revokeSession" | "setCwd"
> {
  const find = async (tenant: string, sessionId: string): Promise<Session> => {
    requireId("ses", "session", sessionId);
    const session = await deps.sessions.get(tenant, sessionId);
    if (session === null) throw notFound("session");
    return session;
  };

  return {
    async createSession(principal, wanted) {
      requireScope(principal, "sessions:write");
      requireName("/workspace_id", wanted.workspaceId);
      const workspace = await usable(() => deps.workspaces.get(principal.tenant, wanted.workspaceId));
      if (workspace === null) throw notFound("workspace");
      const profile = wanted.profile ?? deps.defaultProfile;
      const policy = deps.policy.current();
      if (findProfile(profile, policy, deps.images) === null) {
        throw new BailiffError("invalid_request", "the request is not valid", {
          faults: [{ path: "/profile", message: "no such profile" }],
        });
      }
      const nowMs = deps.clock.nowMs();
      const id = deps.ids.next("ses");
      const webhookSecret =
        wanted.webhook === null ? null : acceptWebhook(deps.webhookTerms, wanted.webhook, id);
      const session: Session = {
        id,
        tenant: principal.tenant,
        workspaceId: wanted.workspaceId,
        profile,
        cwd: ".",
        grant: wanted.grant ?? deps.defaultGrant,
        budget: wanted.budget ?? UNBOUNDED_SESSION,
        label: initialLabel(policy, principal.tenant),
        version: 1,
        createdBy: principal.id,
        createdAtMs: nowMs,
        ...(wanted.webhook === null ? {} : { webhook: wanted.webhook }),
      };
      await deps.sessions.create(session);
      return { session, webhookSecret };
    },

    async getSession(principal, sessionId) {
      requireScope(principal, "sessions:read");
      return find(principal.tenant, sessionId);
    },

    async listSessions(principal, limit, cursor) {
      requireScope(principal, "sessions:read");
      return deps.sessions.list(principal.tenant, limit, cursor);
    },

    async deleteSession(principal, sessionId) {
      requireScope(principal, "sessions:write");
      requireId("ses", "session", sessionId);
      const unfinished = await deps.sessions.remove(principal.tenant, sessionId);
      if (unfinished === null) throw notFound("session");
      await Promise.all(unfinished.map((commandId) => deps.cancel(commandId)));
    },

    async revokeSession(principal, sessionId) {
      requireScope(principal, "sessions:write");
      requireId("ses", "session", sessionId);
      if (!(await deps.sessions.revoke(principal.tenant, sessionId))) throw notFound("session");
      return find(principal.tenant, sessionId);
    },

    async setCwd(principal, sessionId, path) {
      // Navigation chooses where the agent's next command works, so it needs what submitting needs.
      requireScope(principal, "commands:write");
      const session = await find(principal.tenant, sessionId);
      const cwd = await resolveCwd(deps.workspaces, session, path);
      if (!(await deps.sessions.setCwd(principal.tenant, sessionId, cwd))) throw notFound("session");
      return { ...session, cwd };
    },
  };
}
