import { approvalBinding, type BoundFile, deniedAsUnbindable } from "../../domain/approval/approval.js";
import type { CommandRequest } from "../../domain/command.js";
import type { Decision } from "../../domain/decision/decision.js";
import type { Session } from "../../domain/session.js";
import type { FileContent, WorkspaceStore } from "../../ports/workspace-store.js";
import { usable } from "../workspaces/workspace-services.js";

/** Of all files of one approval together: more is not read, and so not approved. */
const MAX_BOUND_BYTES = 64 * 1024 * 1024;

/** What an approval of a request binds, or why none can. */
export type RequestBinding =
  | { readonly ok: true; readonly binding: string; readonly files: readonly BoundFile[] }
  | { readonly ok: false; readonly reason: string };

/** What is decided about, as it was decided. */
export interface BindableRequest {
  readonly session: Pick<Session, "tenant" | "id" | "workspaceId">;
  readonly request: CommandRequest;
  readonly decision: Decision;
  readonly imageDigest: string;
}

/** Reads the workspace and computes what an approval binds. The same at admission and at dispatch. */
export type BindRequest = (wanted: BindableRequest) => Promise<RequestBinding>;

const REASONS: Readonly<Record<Extract<FileContent, { kind: "unusable" }>["reason"], string>> = {
  outside: "a file that it runs is not in the workspace",
  not_a_file: "what it runs is no regular file",
  too_large: "the files that it runs are too large to be read for an approval",
  unreadable: "a file that it runs can't be read",
};

/** Builds the one way in which requests are bound. */
export function createBindRequest(deps: {
  readonly workspaces: Pick<WorkspaceStore, "contents">;
}): BindRequest {
  return async ({ session, request, decision, imageDigest }) => {
    const paths = decision.boundFiles;
    const { realCwd, files: contents } = await usable(() =>
      deps.workspaces.contents(session.tenant, session.workspaceId, {
        cwd: request.cwd,
        files: paths,
        maxBytes: MAX_BOUND_BYTES,
      }),
    );
    const files: BoundFile[] = [];
    for (const [index, path] of paths.entries()) {
      const content = contents[index];
      if (content === undefined || content.kind === "unusable") {
        return {
          ok: false,
          reason: `an approval can't cover it: ${REASONS[content?.reason ?? "unreadable"]}`,
        };
      }
      files.push({ path, sha256: content.kind === "sha256" ? content.sha256 : null });
    }
    const binding = approvalBinding({
      tenant: session.tenant,
      sessionId: session.id,
      workspaceId: session.workspaceId,
      argv: request.argv,
      cwd: request.cwd,
      realCwd,
      timeoutMs: request.timeoutMs,
      imageDigest,
      label: decision.effectiveLabel ?? null,
      files,
    });
    return { ok: true, binding, files };
  };
}

/** A decision with what its approval would bind: null where nobody is to be asked, which includes what can't be bound. */
export async function boundDecision(
  bind: BindRequest,
  wanted: BindableRequest,
): Promise<{
  readonly decision: Decision;
  readonly bound: { readonly binding: string; readonly files: readonly BoundFile[] } | null;
}> {
  const { decision } = wanted;
  if (decision.verdict !== "ask") return { decision, bound: null };
  const answer = await bind(wanted);
  if (!answer.ok) return { decision: deniedAsUnbindable(decision, answer.reason), bound: null };
  return { decision, bound: { binding: answer.binding, files: answer.files } };
}
