import type { CommandRecord } from "../../domain/command.js";
import { type RetrySchedule, retryPauseMs } from "../../domain/webhook/retry-schedule.js";
import { signDelivery, webhookSecret } from "../../domain/webhook/webhook-signature.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandStore } from "../../ports/command-store.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { WebhookAnswer, WebhookSender } from "../../ports/webhook-sender.js";
import type {
  ClaimedDelivery,
  DeliverySettlement,
  DueDelivery,
  WebhookStore,
} from "../../ports/webhook-store.js";
import { withDelivery } from "./with-deliveries.js";

/** Attempts of one process at once, and of one tenant among them: a slow receiver holds up its own tenant. */
const MAX_AT_ONCE = 32;
const MAX_AT_ONCE_PER_TENANT = 8;
/** How far one round looks past deliveries of tenants that have no room. */
const LOOK_AHEAD = 1_000;
/** Beyond the sender's own deadline, for reading and settling. */
const LEASE_MARGIN_MS = 10_000;

/** The deliveries of one process. */
export interface WebhookDeliveries {
  /** Begins whatever is due and has room; resolves when it was begun. A call during a round makes one more. */
  round(): Promise<void>;
  /** Cuts off what runs, which is then tried again later by whichever process is there, and waits for it. */
  stop(): Promise<void>;
}

/**
 * Tells receivers, at least once: an attempt whose process dies, or whose answer is lost, is made again under the same
 * delivery id. Any number of processes share the work.
 */
export function createDeliverWebhooks(deps: {
  readonly webhooks: WebhookStore;
  readonly commands: CommandStore;
  readonly sender: WebhookSender;
  /** A command as `GET` shows it. */
  readonly render: (record: CommandRecord) => string;
  readonly deploymentSecret: string;
  readonly schedule: RetrySchedule;
  /** Bound on one attempt, which the sender keeps. */
  readonly attemptLimitMs: number;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly chance: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}): WebhookDeliveries {
  const shutdown = new AbortController();
  const running = new Set<Promise<void>>();
  const ofTenant = new Map<string, number>();
  let isRounding = false;
  let isAskedAgain = false;
  /** Something due was left for want of room. */
  let isOverfull = false;

  /** Null where there is nothing left to tell of. */
  const post = async (delivery: DueDelivery, claimed: ClaimedDelivery): Promise<WebhookAnswer | null> => {
    const stored = await deps.commands.get(delivery.commandId);
    if (stored?.webhook === undefined) return null;
    const body = deps.render(await withDelivery(stored, deps.webhooks));
    const secret = webhookSecret(deps.deploymentSecret, stored.sessionId);
    return deps.sender.post({
      url: stored.webhook.url,
      headers: {
        "content-type": "application/json",
        "bailiff-signature": signDelivery(secret, Math.floor(deps.clock.nowMs() / 1000), body),
        "bailiff-delivery": `${delivery.commandId}.${delivery.event}`,
        "bailiff-event": delivery.event,
      },
      body,
      signal: shutdown.signal,
      earlierAttempts: claimed.attempts - 1,
    });
  };

  const conclude = (
    answer: WebhookAnswer | null,
    { attempts, ageMs }: ClaimedDelivery,
  ): DeliverySettlement => {
    if (answer === null) return { state: "failed", retryMs: null, status: null, errorCode: "command_gone" };
    if (answer.kind === "blocked")
      return { state: "blocked", retryMs: null, status: null, errorCode: answer.code };
    const status = answer.kind === "answered" ? answer.status : null;
    if (status !== null && status >= 200 && status < 300) {
      return { state: "delivered", retryMs: null, status, errorCode: null };
    }
    const retryMs = retryPauseMs(deps.schedule, attempts, ageMs, deps.chance());
    const errorCode =
      answer.kind === "failed" ? answer.code : answer.status < 400 ? "redirect_refused" : "http_status";
    return { state: retryMs === null ? "failed" : "pending", retryMs, status, errorCode };
  };

  const attempt = async (delivery: DueDelivery): Promise<void> => {
    // One holder per attempt: an attempt that outlived its lease can't settle the next one's.
    const holder = deps.ids.next("fen");
    const claimed = await deps.webhooks.claim(delivery, holder, deps.attemptLimitMs + LEASE_MARGIN_MS);
    if (claimed === null) return;
    const beganAtMs = deps.clock.nowMs();
    const settlement = conclude(await post(delivery, claimed), claimed);
    const isOurs = await deps.webhooks.settle(delivery, holder, settlement);
    const result = !isOurs ? "superseded" : settlement.state === "pending" ? "retried" : settlement.state;
    deps.metrics.count("bailiff_webhook_attempts_total", { result });
    deps.metrics.observe(
      "bailiff_webhook_attempt_seconds",
      Math.max(0, deps.clock.nowMs() - beganAtMs) / 1000,
      {
        result,
      },
    );
    // The URL can hold a token of the receiver's, so it stays out of the log.
    const fields = {
      command_id: delivery.commandId,
      session_id: delivery.sessionId,
      tenant: delivery.tenant,
      event: delivery.event,
      attempts: claimed.attempts,
      result,
      status: settlement.status,
      code: settlement.errorCode,
    };
    if (result === "blocked") deps.log.warn(fields, "a webhook was not sent: its target is not allowed");
    else if (result === "failed") deps.log.warn(fields, "a webhook was given up");
    else deps.log.info(fields, "a webhook was tried");
  };

  const begin = (delivery: DueDelivery): void => {
    const { tenant } = delivery;
    ofTenant.set(tenant, (ofTenant.get(tenant) ?? 0) + 1);
    const work = attempt(delivery)
      .catch((error: unknown) => {
        deps.log.warn(
          { command_id: delivery.commandId, err: error },
          "an attempt to deliver a webhook was cut short; it is due again when its lease is over",
        );
      })
      .finally(() => {
        running.delete(work);
        const left = (ofTenant.get(tenant) ?? 1) - 1;
        if (left === 0) ofTenant.delete(tenant);
        else ofTenant.set(tenant, left);
        if (isOverfull) round().catch(() => undefined);
      });
    running.add(work);
  };

  const beginDue = async (): Promise<void> => {
    isOverfull = false;
    for (const delivery of await deps.webhooks.due(LOOK_AHEAD)) {
      if (shutdown.signal.aborted) return;
      const hasRoom =
        running.size < MAX_AT_ONCE && (ofTenant.get(delivery.tenant) ?? 0) < MAX_AT_ONCE_PER_TENANT;
      if (hasRoom) begin(delivery);
      else isOverfull = true;
    }
  };

  const round = async (): Promise<void> => {
    isAskedAgain = true;
    if (isRounding) return;
    isRounding = true;
    try {
      while (isAskedAgain && !shutdown.signal.aborted) {
        isAskedAgain = false;
        await beginDue();
      }
    } finally {
      isRounding = false;
    }
  };

  return {
    round,
    async stop() {
      shutdown.abort();
      await Promise.all(running);
    },
  };
}
