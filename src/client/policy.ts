import type { SubmissionWire } from "../contract/commands.js";
import type { DecisionWire } from "../contract/decisions.js";
import type { CallOptions, Transport } from "./transport.js";
import type { PolicyInForce } from "./wire.js";

/** What can be asked about policy. */
export interface Policy {
  /** The decision that a submit would get now, also when it is a denial. Consumes nothing. */
  explain(sessionId: string, submission: SubmissionWire, options?: CallOptions): Promise<DecisionWire>;
  /** The policy in force. */
  get(options?: CallOptions): Promise<PolicyInForce>;
}

/** The policy of one service. */
export function createPolicy(transport: Transport): Policy {
  return {
    async explain(sessionId, submission, options) {
      const body = { session_id: sessionId, ...submission };
      const request = { method: "POST", path: "/v1/policy/explain", body, repeatable: true };
      return ((await transport.json(request, options)) as { decision: DecisionWire }).decision;
    },
    async get(options) {
      const request = { method: "GET", path: "/v1/policy", repeatable: true };
      return (await transport.json(request, options)) as PolicyInForce;
    },
  };
}
