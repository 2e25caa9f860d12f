import type { FastifyRequest } from "fastify";
import { BailiffError } from "../../domain/errors.js";
import type { Authenticator, Principal } from "../../ports/authenticator.js";
import { bearerOf } from "./bearer.js";
import type { HttpScope } from "./http-deps.js";

/** Who each request of the authenticated scope comes from. */
export interface AuthScope {
  /** Makes every route of a scope, present and to come, refuse requests without a valid credential. */
  protect(scope: HttpScope): void;
  principalOf(request: FastifyRequest): Principal;
}

/** Builds the one gate in front of everything that is not public. */
export function createAuthScope(authenticator: Authenticator): AuthScope {
  const principals = new WeakMap<FastifyRequest, Principal>();
  return {
    protect(scope) {
      // onRequest: before a byte of the body is read.
      scope.addHook("onRequest", async (request) => {
        const bearer = bearerOf(request.headers.authorization);
        const principal = bearer === null ? null : await authenticator.authenticate(bearer);
        if (principal === null)
          throw new BailiffError(
            "unauthenticated",
            "a valid API key or token is needed: Authorization: Bearer …",
          );
        principals.set(request, principal);
      });
    },
    principalOf(request) {
      const principal = principals.get(request);
      if (principal === undefined)
        throw new Error("a route that needs a principal is outside the authenticated scope");
      return principal;
    },
  };
}
