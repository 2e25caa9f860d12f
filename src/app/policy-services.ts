import type { PolicySource } from "../ports/policy-source.js";
import { requireScope } from "./access.js";
import type { BailiffServices } from "./services.js";

/** Use cases on the policy as a document. */
export function createPolicyServices(deps: {
  readonly policy: PolicySource;
}): Pick<BailiffServices, "policy"> {
  return {
    async policy(principal) {
      requireScope(principal, "policy:read");
      const { version, document } = deps.policy.current();
      return { version, document };
    },
  };
}
