import { createHash } from "node:crypto";
import { canonicalJson } from "../canonical-json.js";
import type { Label } from "../data-flow/label.js";
import type { Decision, LayerVerdict } from "../decision/decision.js";

/**
 * The life of an approval. `pending` waits for a person; `approved` may be used once, in time; every other is final: `consumed`
 * by the dispatch, `void` where the command ended in the queue for another reason than a cancel or the end of its time.
 */
export const APPROVAL_STATES = [
  "pending",
  "approved",
  "consumed",
  "denied",
  "expired",
  "cancelled",
  "void",
] as const;

/** One state of an approval. */
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** A workspace file whose content an approval binds. */
export interface BoundFile {
  /** Relative to the workspace root. */
  readonly path: string;
  /** In hexadecimal; null where there was no such file, which has to stay so. */
  readonly sha256: string | null;
}

/** A person's single-use yes to exactly one request, or the wait for it. It belongs to one command for ever. */
export interface Approval {
  readonly id: string;
  readonly state: ApprovalState;
  /** SHA-256 of what was approved, in hexadecimal. */
  readonly binding: string;
  readonly files: readonly BoundFile[];
  /** Milliseconds since the epoch by the store's clock; null before the store has taken it up. */
  readonly expiresAtMs: number | null;
  readonly decidedBy: string | null;
  readonly decidedAtMs: number | null;
  readonly note: string | null;
}

/** A new approval, which waits for a person. */
export function pendingApproval(
  id: string,
  bound: { readonly binding: string; readonly files: readonly BoundFile[] },
): Approval {
  const { binding, files } = bound;
  return {
    id,
    state: "pending",
    binding,
    files,
    expiresAtMs: null,
    decidedBy: null,
    decidedAtMs: null,
    note: null,
  };
}

/** Everything an approval is about; a difference in any of it makes it another request. */
export interface BoundRequest {
  readonly tenant: string;
  readonly sessionId: string;
  readonly workspaceId: string;
  readonly argv: readonly string[];
  /** Canonical, as it was asked for. */
  readonly cwd: string;
  /** Where that leads through symbolic links; null where it leads nowhere inside. */
  readonly realCwd: string | null;
  readonly timeoutMs: number;
  readonly imageDigest: string;
  readonly label: Label | null;
  readonly files: readonly BoundFile[];
}

/** What is said of a command whose approval was for something else than it would run now. */
export const CHANGED_DETAIL = "at dispatch: the approved request changed";

/** The id of a command's one approval, which is the command's own under another name. */
export function approvalIdOf(commandId: string): string {
  return commandId.replace(/^cmd_/, "apr_");
}

/** The command that an approval belongs to. */
export function commandIdOf(approvalId: string): string {
  return approvalId.replace(/^apr_/, "cmd_");
}

/** The SHA-256 of the canonical JSON of a request, in hexadecimal. Order of files and of categories does not count. */
export function approvalBinding(request: BoundRequest): string {
  const { label } = request;
  const text = canonicalJson({
    version: 1,
    tenant: request.tenant,
    session: request.sessionId,
    workspace: request.workspaceId,
    argv: [...request.argv],
    cwd: request.cwd,
    cwd_leads_to: request.realCwd,
    timeout_s: request.timeoutMs / 1000,
    image_digest: request.imageDigest,
    label:
      label === null
        ? null
        : {
            tenant: label.tenant,
            sensitivity: label.sensitivity,
            trust: label.trust,
            categories: [...label.categories].sort(),
          },
    files: Object.fromEntries(request.files.map(({ path, sha256 }) => [path, sha256])),
  });
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** A decision to ask as the denial that it has to be where an approval could not bind what would run. */
export function deniedAsUnbindable(decision: Decision, reason: string): Decision {
  const layers = decision.layers.map((layer): LayerVerdict => {
    if (layer.layer === "approval")
      return { layer: "approval", verdict: "deny", code: "approval_not_bindable", reason };
    if (layer.layer === "budget")
      return { layer: "budget", verdict: "skipped", code: "skipped", reason: "an earlier layer denied" };
    return layer;
  });
  const { grantedVector: _used, ...rest } = decision;
  return { ...rest, verdict: "deny", layers, gitHardened: false, boundFiles: [] };
}
