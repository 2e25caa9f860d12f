import { BailiffError } from "../domain/errors.js";
import type { IdKind } from "../domain/ids.js";
import { isId, isName } from "../domain/ids.js";
import type { Principal, Scope } from "../ports/authenticator.js";

/** Throws `insufficient_scope` unless the principal has the scope (or `admin`). */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.has(scope) || principal.scopes.has("admin")) return;
  throw new BailiffError("insufficient_scope", `this needs the scope ${scope}`, {
    extensions: { required_scope: scope },
  });
}

/** The one answer for what does not exist and for what is another tenant's. */
export function notFound(
  what: "workspace" | "session" | "command" | "source object" | "approval",
): BailiffError {
  return new BailiffError("not_found", `no such ${what}`);
}

/** Throws `not_found` for text that can't be an id of this kind, before any store sees it. */
export function requireId(kind: IdKind, what: "session" | "command" | "approval", text: string): void {
  if (!isId(kind, text)) throw notFound(what);
}

/** Throws `invalid_request` for a name that Bailiff does not take. */
export function requireName(path: string, text: string): void {
  if (isName(text)) return;
  throw new BailiffError("invalid_request", "the request is not valid", {
    faults: [
      { path, message: "must be 1 to 63 characters of a-z, 0-9, _ and -, beginning with a letter or digit" },
    ],
  });
}
