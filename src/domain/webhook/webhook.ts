/** The events of a command that a webhook can be told of. */
export const WEBHOOK_EVENTS = ["awaiting_approval", "finished"] as const;

/** One of those events. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Where a session's commands are told of. Holds no secret: that is derived anew for each delivery. */
export interface SessionWebhook {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
}

/** `blocked`: the target may not be reached, and is not tried again. `failed`: attempts or time were used up. */
export const DELIVERY_STATES = ["pending", "delivered", "failed", "blocked"] as const;

/** Where the delivery of one event stands. */
export interface WebhookDelivery {
  readonly event: WebhookEvent;
  readonly state: (typeof DELIVERY_STATES)[number];
  /** Attempts begun; one that a crash cut off counts. */
  readonly attempts: number;
  /** The HTTP status of the last attempt that got one. */
  readonly lastStatus: number | null;
  /** Why the last attempt did not deliver; a stable code. */
  readonly lastErrorCode: string | null;
  readonly nextAttemptAtMs: number | null;
  readonly deliveredAtMs: number | null;
}
