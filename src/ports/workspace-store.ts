import type { WorkspaceFacts } from "../domain/containment/workspace-facts.js";
import type { Workspace } from "../domain/session.js";

/** Why a workspace can't be used; `message` names no host path. */
export class WorkspaceFault extends Error {
  override readonly name = "WorkspaceFault";
  readonly code: "owned_by_root" | "not_a_directory" | "not_permitted" | "in_use" | "io";
  constructor(code: WorkspaceFault["code"], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** What one file holds: its SHA-256 in hexadecimal; `unusable` for what is no regular file inside, or too much to read. */
export type FileContent =
  | { readonly kind: "sha256"; readonly sha256: string }
  | { readonly kind: "missing" }
  | { readonly kind: "unusable"; readonly reason: "outside" | "not_a_file" | "too_large" | "unreadable" };

/** The answer to a look at what an approval binds. */
export interface WorkspaceContents {
  /** Without symbolic links; null where it leads to no directory inside. */
  readonly realCwd: string | null;
  /** In the order that was asked. */
  readonly files: readonly FileContent[];
}

/** Directories under the workspaces root, one per (tenant, workspace). The root itself is never a link and never agent-writable. */
export interface WorkspaceStore {
  /** Create for the configured runner uid, or return the existing one. `created` tells which. */
  ensure(
    tenant: string,
    workspaceId: string,
    nowMs: number,
  ): Promise<{ workspace: Workspace; created: boolean }>;
  get(tenant: string, workspaceId: string): Promise<Workspace | null>;
  /** Remove with everything in it, following no link. False when there was none. */
  remove(tenant: string, workspaceId: string): Promise<boolean>;
  /**
   * Absolute path as this process and the engine see it; rejects with WorkspaceFault when it is missing, a link, or root's.
   * `identity` tells this directory from any other that had or will have its name.
   */
  locate(
    tenant: string,
    workspaceId: string,
  ): Promise<{ path: string; identity: string; uid: number; gid: number }>;
  /** Where each candidate really leads. Never throws for what the workspace contains. */
  facts(tenant: string, workspaceId: string, candidates: readonly string[]): Promise<WorkspaceFacts>;
  /** Whether a canonical relative path is a directory inside the workspace now. */
  isDirectory(tenant: string, workspaceId: string, path: string): Promise<boolean>;
  /**
   * Where `cwd` leads and what the named files hold, for an approval to bind. Every path is relative to the root and followed
   * as the container follows it. Never throws for what the workspace contains; reads at most `maxBytes` of all files together.
   */
  contents(
    tenant: string,
    workspaceId: string,
    wanted: { readonly cwd: string; readonly files: readonly string[]; readonly maxBytes: number },
  ): Promise<WorkspaceContents>;
}
