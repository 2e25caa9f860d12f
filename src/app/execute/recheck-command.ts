import { CHANGED_DETAIL } from "../../domain/approval/approval.js";
import type { CommandRecord } from "../../domain/command.js";
import type { SessionGrant } from "../../domain/decision/grant.js";
import { type HardenedGit, hardenGit } from "../../domain/git-guard/harden-git.js";
import { type RepositoryFacts, repositoryVerdict } from "../../domain/git-guard/repository-verdict.js";
import type { ServiceLimits } from "../../domain/limits.js";
import type { Clock } from "../../ports/clock.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { WorkspaceStore } from "../../ports/workspace-store.js";
import { WorkspaceFault } from "../../ports/workspace-store.js";
import type { BindRequest } from "../approvals/bind-request.js";
import type { Decider } from "../decide/decider.js";
import type { Profile } from "../decide/profile-catalog.js";
import type { Recheck } from "./execute-command.js";
import type { WorkspaceWatch } from "./workspace-watch.js";

/** Where the container looks programs up; the same list is compiled into bailiff-init. */
const SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const HOME = "/home/agent";
/** How long after its own limits a container may be removed by anybody's sweeper. */
const DEADLINE_MARGIN_MS = 60_000;

/** The longest a container can be needed from its lease on. */
export function longestContainerMs(limits: ServiceLimits): number {
  return limits.hardTimeoutMs + limits.graceMs + DEADLINE_MARGIN_MS;
}

/**
 * Decides a queued command again, with the policy, the session and the workspace as this worker finds them now.
 * Nothing here can turn a stricter verdict of the admission into a laxer one: an allow must still be an allow.
 */
export function createRecheckCommand(deps: {
  readonly decider: Decider;
  readonly bind: BindRequest;
  readonly sessions: SessionStore;
  readonly workspaces: WorkspaceStore;
  /** What stands where Git looks, at the workspace's root; never rejects. */
  readonly repositoryFacts: (workspacePath: string) => Promise<RepositoryFacts>;
  readonly fullWorkspaces: Pick<WorkspaceWatch, "refuses">;
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly graceMs: number;
}): (record: CommandRecord) => Promise<Recheck> {
  return async (record) => {
    // At once: neither depends on the other, and a waiting container makes each wait show.
    const [sought, found] = await Promise.allSettled([
      deps.sessions.get(record.tenant, record.sessionId),
      deps.workspaces.locate(record.tenant, record.workspaceId),
    ]);
    if (sought.status === "rejected") throw sought.reason;
    const session = sought.value;
    if (session === null) return refuse("the session is gone");
    if (found.status === "rejected") {
      const error: unknown = found.reason;
      if (error instanceof WorkspaceFault && error.code !== "io") return refuse(error.message);
      throw error;
    }
    const located = found.value;
    const {
      decision,
      profile,
      environment: policyEnvironment,
    } = await deps.decider.decide({
      session,
      scopes: new Set(["commands:write"]),
      request: record.request,
      grant: withOwnReservation(session.grant, record),
    });
    if (decision.verdict === "deny") {
      const denying = decision.layers.find((layer) => layer.verdict === "deny");
      return refuse(denying?.reason ?? "denied");
    }
    if (decision.verdict === "ask" && record.approval === undefined) {
      return refuse("the policy now asks for an approval");
    }
    if (record.approval !== undefined) {
      const bound = await deps.bind({
        session,
        request: record.request,
        decision,
        imageDigest: profile.imageDigest,
      });
      if (!bound.ok || bound.binding !== record.approval.binding) {
        return { kind: "refuse", detail: CHANGED_DETAIL };
      }
    }
    if (profile.imageDigest !== record.imageDigest) {
      return refuse("the profile's image is another one now");
    }
    const excess = await deps.fullWorkspaces.refuses(located.path);
    if (excess !== null) return refuse(`the workspace is far over its limit (${excess})`);
    let hardened: HardenedGit | null = null;
    if (decision.gitHardened) {
      const repository = repositoryVerdict(await deps.repositoryFacts(located.path));
      if (!repository.ok) return refuse(repository.reason);
      hardened = hardenGit(record.request.argv, repository.overrides);
    }
    return {
      kind: "proceed",
      plan: {
        seen:
          decision.effectiveLabel === undefined
            ? null
            : { sessionVersion: session.version, label: decision.effectiveLabel },
        purpose: {
          tenant: record.tenant,
          workspaceId: record.workspaceId,
          workspacePath: located.path,
          workspaceIdentity: located.identity,
          uid: located.uid,
          gid: located.gid,
          profile: withinMemory(profile, session.budget.maxMemoryBytes),
          commandId: record.id,
          deadlineMs: deps.clock.nowMs() + record.request.timeoutMs + deps.graceMs + DEADLINE_MARGIN_MS,
        },
        argv: hardened?.argv ?? record.request.argv,
        environment: {
          ...policyEnvironment,
          ...deps.environment,
          ...hardened?.environment,
          PATH: SAFE_PATH,
          HOME,
          LANG: "C.UTF-8",
        },
      },
    };
  };
}

function refuse(detail: string): Recheck {
  return { kind: "refuse", detail: `at dispatch: ${detail}` };
}

function withinMemory(profile: Profile, maxMemoryBytes: number | null): Profile {
  if (maxMemoryBytes === null || maxMemoryBytes >= profile.limits.memoryBytes) return profile;
  return { ...profile, limits: { ...profile.limits, memoryBytes: maxMemoryBytes } };
}

/** The grant as this command sees it: what its admission took for it is its own and not yet used. */
function withOwnReservation(grant: SessionGrant, record: CommandRecord): SessionGrant {
  const own = record.decision.grantedVector;
  return {
    ...grant,
    dispatchesLeft: grant.dispatchesLeft === null ? null : grant.dispatchesLeft + 1,
    vectors: grant.vectors.map((vector, index) =>
      index === own && vector.usesLeft !== null ? { ...vector, usesLeft: vector.usesLeft + 1 } : vector,
    ),
  };
}
