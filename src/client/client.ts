import { type Approvals, createApprovals } from "./approvals.js";
import { type Commands, createCommands } from "./commands.js";
import { createEvidence, type Evidence } from "./evidence.js";
import { createPolicy, type Policy } from "./policy.js";
import { createSessions, type Sessions } from "./sessions.js";
import { type ClientSettings, createTransport, type Transport } from "./transport.js";
import { createWorkspaces, type Workspaces } from "./workspaces.js";

/** A client of one service with one key. It keeps no connection and no state: there is nothing to close. */
export interface BailiffClient {
  readonly workspaces: Workspaces;
  readonly sessions: Sessions;
  readonly commands: Commands;
  readonly approvals: Approvals;
  readonly policy: Policy;
  readonly evidence: Evidence;
  /** For what has no method here. It repeats only what it is told is safe to repeat. */
  readonly transport: Transport;
}

/** Builds a client. Every call throws BailiffProblem, NoAnswer, or the reason of its own signal. */
export function createBailiffClient(settings: ClientSettings): BailiffClient {
  const transport = createTransport(settings);
  return {
    workspaces: createWorkspaces(transport),
    sessions: createSessions(transport),
    commands: createCommands(transport),
    approvals: createApprovals(transport),
    policy: createPolicy(transport),
    evidence: createEvidence(transport),
    transport,
  };
}
