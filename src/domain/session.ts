import type { Label } from "./data-flow/label.js";
import type { SessionGrant } from "./decision/grant.js";
import type { SessionBudget } from "./decision/session-budget.js";
import type { SessionWebhook } from "./webhook/webhook.js";

/** One agent process: where it works, with which profile, under which authority. */
export interface Session {
  readonly id: string;
  readonly tenant: string;
  readonly workspaceId: string;
  readonly profile: string;
  /** Canonical and relative to the workspace root: `.` or `a/b`. */
  readonly cwd: string;
  readonly grant: SessionGrant;
  readonly budget: SessionBudget;
  /** What the agent has read so far, as far as it is known; only ever rises. */
  readonly label: Label;
  /** Rises with every change of what a decision depends on: directory, label, source objects, revocation. */
  readonly version: number;
  readonly createdBy: string;
  readonly createdAtMs: number;
  /** Who is told of its commands; absent for nobody. */
  readonly webhook?: SessionWebhook;
}

/** One directory under the workspaces root; the id is unique within its tenant. */
export interface Workspace {
  readonly tenant: string;
  readonly id: string;
  readonly createdAtMs: number;
  /** Who its files belong to; never 0. */
  readonly uid: number;
  readonly gid: number;
}
