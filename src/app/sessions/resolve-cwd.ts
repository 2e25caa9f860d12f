import { judgeToken, WORKSPACE_ROOT } from "../../domain/containment/judge-token.js";
import { BailiffError } from "../../domain/errors.js";
import type { Session } from "../../domain/session.js";
import type { WorkspaceStore } from "../../ports/workspace-store.js";

const MAX_PATH_BYTES = 4_095;

/**
 * Where a navigation leads, canonical and relative to the workspace root. Judged by the same table as any token;
 * throws BailiffError `denied` where it leaves the workspace, `invalid_request` where it is no directory now.
 */
export async function resolveCwd(
  workspaces: WorkspaceStore,
  session: Session,
  path: string,
): Promise<string> {
  if (path === "" || path.includes("\0") || !path.isWellFormed() || path.length > MAX_PATH_BYTES) {
    throw invalid(`must be 1 to ${MAX_PATH_BYTES} characters without NUL or lone surrogates`);
  }
  const judgement = judgeToken(path, { cwd: session.cwd, readOnlyRoots: [] });
  if (judgement.refusal !== undefined) throw refused();
  const cwd = fold(path, session.cwd);
  if (cwd === null) throw refused();
  const lookUps = [...judgement.lookUps.map((lookUp) => lookUp.path), cwd];
  const facts = await workspaces.facts(session.tenant, session.workspaceId, lookUps);
  if (lookUps.some((each) => facts.resolve(each) === "outside")) throw refused();
  if (!(await workspaces.isDirectory(session.tenant, session.workspaceId, cwd))) {
    throw invalid("must be a directory that exists in the workspace");
  }
  return cwd;
}

/** The canonical form, or null for what is outside. */
function fold(path: string, cwd: string): string | null {
  let parts: string[];
  if (path.startsWith("/")) {
    if (path !== WORKSPACE_ROOT && !path.startsWith(`${WORKSPACE_ROOT}/`)) return null;
    parts = path.slice(WORKSPACE_ROOT.length).split("/");
  } else {
    parts = [...(cwd === "." ? [] : cwd.split("/")), ...path.split("/")];
  }
  const folded: string[] = [];
  for (const part of parts) {
    if (part === "" || part === ".") continue;
    if (part !== "..") folded.push(part);
    else if (folded.pop() === undefined) return null;
  }
  return folded.length === 0 ? "." : folded.join("/");
}

function refused(): BailiffError {
  return new BailiffError("denied", "the path leaves the workspace. This is final for this request.");
}

function invalid(message: string): BailiffError {
  return new BailiffError("invalid_request", "the request is not valid", {
    faults: [{ path: "/path", message }],
  });
}
