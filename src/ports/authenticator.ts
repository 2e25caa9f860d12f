/** What a principal may do. */
export const SCOPES = [
  "workspaces:write",
  "workspaces:read",
  "sessions:write",
  "sessions:read",
  "commands:write",
  "commands:read",
  "approvals:read",
  "approvals:decide",
  "policy:read",
  "audit:read",
  "admin",
] as const;

/** One right of a principal. `admin` implies the others within the tenant. */
export type Scope = (typeof SCOPES)[number];

/** The authenticated caller. */
export interface Principal {
  readonly id: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly method: "api_key" | "jwt";
}

/** Turns a bearer credential into a principal. Null for anything that is not valid; never says why to the caller. */
export interface Authenticator {
  authenticate(bearer: string): Promise<Principal | null>;
}
