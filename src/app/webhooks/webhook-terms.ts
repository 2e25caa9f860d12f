import { BailiffError } from "../../domain/errors.js";
import { judgeTarget, type TargetRules } from "../../domain/webhook/judge-target.js";
import type { SessionWebhook } from "../../domain/webhook/webhook.js";
import { webhookSecret } from "../../domain/webhook/webhook-signature.js";

/** Whether and where this deployment sends webhooks. */
export interface WebhookTerms {
  /** The deployment's secret; null where webhooks are not configured. */
  readonly secret: string | null;
  readonly rules: TargetRules;
}

/** Takes a wanted webhook and answers its session's secret. Throws `invalid_request` for one that will never be sent. */
export function acceptWebhook(terms: WebhookTerms, wanted: SessionWebhook, sessionId: string): string {
  if (terms.secret === null) throw refused("/webhook", "webhooks are not configured here (webhooks.secret)");
  const verdict = judgeTarget(wanted.url, terms.rules);
  if (!verdict.ok) throw refused("/webhook/url", verdict.message);
  return webhookSecret(terms.secret, sessionId);
}

function refused(path: string, message: string): BailiffError {
  return new BailiffError("invalid_request", `${path} ${message}`, { faults: [{ path, message }] });
}
