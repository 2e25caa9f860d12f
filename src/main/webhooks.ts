import { createWebhookSender } from "../adapters/webhook/webhook-sender.js";
import { createPeriodic } from "../app/periodic.js";
import { createDeliverWebhooks } from "../app/webhooks/deliver-webhooks.js";
import { commandToWire } from "../contract/commands.js";
import type { Foundation } from "./foundation.js";
import { VERSION } from "./version.js";

/** How often deliveries are looked for that are due again, or of which no message came. */
const DUE_MS = 1_000;

/** Delivers webhooks from this process until the returned function is called; does nothing where they are not configured. */
export function startWebhooks(foundation: Foundation): () => Promise<void> {
  const { config, log, metrics, clock, ids, stores } = foundation;
  const { secret, attempts, retryMs, timeoutMs, ...rules } = config.webhooks;
  if (secret === null) return async () => undefined;
  const deliveries = createDeliverWebhooks({
    webhooks: stores.webhooks,
    commands: stores.commands,
    sender: createWebhookSender({ rules, limitMs: timeoutMs, userAgent: `bailiff/${VERSION}` }),
    render: (record) => JSON.stringify(commandToWire(record)),
    deploymentSecret: secret,
    // A result that is gone can't be told of.
    schedule: { attempts, firstRetryMs: retryMs, maxAgeMs: config.limits.resultTtlMs },
    attemptLimitMs: timeoutMs,
    ids,
    clock,
    chance: Math.random,
    log,
    metrics,
  });
  const periodic = createPeriodic({
    name: "webhooks",
    intervalMs: DUE_MS,
    log,
    metrics,
    work: () => deliveries.round(),
  });
  const endNudges = stores.webhooks.onOwed(() => {
    // A failed round is made again by the period, which says so.
    deliveries.round().catch(() => undefined);
  });
  periodic.start();
  return async () => {
    endNudges();
    await periodic.stop();
    await deliveries.stop();
  };
}
