import type { CommandRequest } from "../../domain/command.js";
import { initialLabel } from "../../domain/data-flow/data-flow.js";
import { joinLabels } from "../../domain/data-flow/label.js";
import { type BudgetState, UNLIMITED_BUDGET } from "../../domain/decision/budget-verdict.js";
import type { Decision } from "../../domain/decision/decision.js";
import type { SessionGrant } from "../../domain/decision/grant.js";
import { BailiffError } from "../../domain/errors.js";
import { decide, pathCandidates } from "../../domain/pipeline.js";
import type { CompiledPolicy } from "../../domain/policy/compiled-policy.js";
import type { Session } from "../../domain/session.js";
import type { Clock } from "../../ports/clock.js";
import type { PolicySource } from "../../ports/policy-source.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { WorkspaceStore } from "../../ports/workspace-store.js";
import { usable } from "../workspaces/workspace-services.js";
import type { Profile } from "./profile-catalog.js";
import { findProfile } from "./profile-catalog.js";

/**
 * What is to be decided. `grant` replaces the session's where a part of it is already reserved; without `budget` it is
 * reserved as a whole, and its layer has nothing to refuse.
 */
export interface Question {
  readonly session: Session;
  readonly scopes: ReadonlySet<string>;
  readonly request: CommandRequest;
  readonly grant?: SessionGrant;
  readonly budget?: BudgetState;
}

/** A decision with the profile it was made for. */
export interface Answer {
  readonly decision: Decision;
  readonly profile: Profile;
  /** What the same policy gives every command. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Gathers what the pipeline needs to know and asks it. The same at admission, at dispatch and for an explanation. */
export interface Decider {
  /** The session's profile as it is defined now. Throws `conflict` when it no longer is. */
  profileOf(session: Session): Profile;
  decide(question: Question): Promise<Answer>;
}

/** Builds the decider over the policy in force at each question. */
export function createDecider(deps: {
  readonly policy: PolicySource;
  readonly images: Readonly<Record<string, string>>;
  readonly workspaces: WorkspaceStore;
  readonly sessions: Pick<SessionStore, "objectLabels">;
  readonly clock: Clock;
}): Decider {
  const profileOf = (session: Session, policy: CompiledPolicy): Profile => {
    const profile = findProfile(session.profile, policy, deps.images);
    if (profile === null) throw new BailiffError("conflict", "the session's profile is no longer defined");
    return profile;
  };

  return {
    profileOf: (session) => profileOf(session, deps.policy.current()),

    async decide({ session, scopes, request, grant, budget }) {
      const policy = deps.policy.current();
      const profile = profileOf(session, policy);
      const { argv, cwd } = request;
      const candidates = pathCandidates({ argv, cwd, readOnlyRoots: profile.readOnlyRoots }, policy);
      const workspaceFacts = await usable(() =>
        deps.workspaces.facts(session.tenant, session.workspaceId, candidates),
      );
      const sourceLabels = await deps.sessions.objectLabels(
        session.tenant,
        session.id,
        request.sourceObjects,
      );
      // A policy that has become stricter about where sessions begin holds for the old ones too.
      const begun = joinLabels(session.label, [initialLabel(policy, session.tenant)], policy.scales);
      const decision = decide(
        {
          argv,
          cwd,
          authorization: { scopes, principalTenant: session.tenant, sessionTenant: session.tenant },
          grant: grant ?? session.grant,
          nowMs: deps.clock.nowMs(),
          profile,
          workspaceFacts,
          sessionLabel: begun.ok ? begun.label : session.label,
          sourceLabels,
          budget: budget ?? UNLIMITED_BUDGET,
        },
        policy,
      );
      return { decision, profile, environment: policy.document.environment };
    },
  };
}
