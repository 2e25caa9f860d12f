import type { CommandRequest } from "../../domain/command.js";
import { initialLabel } from "../../domain/data-flow/data-flow.js";
import { UNLIMITED_BUDGET } from "../../domain/decision/budget-verdict.js";
import type { Decision } from "../../domain/decision/decision.js";
import type { SessionGrant } from "../../domain/decision/grant.js";
import { BailiffError } from "../../domain/errors.js";
import { decide, pathCandidates } from "../../domain/pipeline.js";
import type { Session } from "../../domain/session.js";
import type { Clock } from "../../ports/clock.js";
import type { PolicySource } from "../../ports/policy-source.js";
import type { WorkspaceStore } from "../../ports/workspace-store.js";
import { usable } from "../workspaces/workspace-services.js";
import type { Profile } from "./profile-catalog.js";
import { findProfile } from "./profile-catalog.js";

/** What is to be decided. `grant` replaces the session's where a part of it is already reserved. */
export interface Question {
  readonly session: Session;
  readonly scopes: ReadonlySet<string>;
  readonly request: CommandRequest;
  readonly grant?: SessionGrant;
}

/** A decision with the profile it was made for. */
export interface Answer {
  readonly decision: Decision;
  readonly profile: Profile;
}

/** Gathers what the pipeline needs to know and asks it. The same at admission, at dispatch and for an explanation. */
export interface Decider {
  decide(question: Question): Promise<Answer>;
}

/** Builds the decider over the policy in force at each question. */
export function createDecider(deps: {
  readonly policy: PolicySource;
  readonly images: Readonly<Record<string, string>>;
  readonly workspaces: WorkspaceStore;
  readonly clock: Clock;
}): Decider {
  return {
    async decide({ session, scopes, request, grant }) {
      const policy = deps.policy.current();
      const profile = findProfile(session.profile, policy, deps.images);
      if (profile === null) throw new BailiffError("conflict", "the session's profile is no longer defined");
      const { argv, cwd } = request;
      const candidates = pathCandidates({ argv, cwd, readOnlyRoots: profile.readOnlyRoots }, policy);
      const workspaceFacts = await usable(() =>
        deps.workspaces.facts(session.tenant, session.workspaceId, candidates),
      );
      const decision = decide(
        {
          argv,
          cwd,
          authorization: { scopes, principalTenant: session.tenant, sessionTenant: session.tenant },
          grant: grant ?? session.grant,
          nowMs: deps.clock.nowMs(),
          profile,
          workspaceFacts,
          sessionLabel: initialLabel(policy, session.tenant),
          sourceLabels: request.sourceObjects.map(() => null),
          budget: UNLIMITED_BUDGET,
        },
        policy,
      );
      return { decision, profile };
    },
  };
}
