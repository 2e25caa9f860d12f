import type { WebhookDelivery, WebhookEvent } from "../domain/webhook/webhook.js";

/** One delivery: an event of a command that a webhook is to be told of. */
export interface DueDelivery {
  readonly commandId: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly event: WebhookEvent;
}

/** A delivery taken for one attempt. */
export interface ClaimedDelivery {
  /** Attempts begun, with this one. */
  readonly attempts: number;
  /** Since the first attempt began. */
  readonly ageMs: number;
}

/** What an attempt ended with. `retryMs` null ends the delivery. */
export interface DeliverySettlement {
  readonly state: WebhookDelivery["state"];
  readonly retryMs: number | null;
  readonly status: number | null;
  readonly errorCode: string | null;
}

/**
 * Deliveries that are owed. A debt is taken up in the same step as the change it is about, by the command store.
 * Times are by the store's clock. Rejects with StoreUnavailable.
 */
export interface WebhookStore {
  /** Deliveries whose time has come, the oldest first. */
  due(limit: number): Promise<readonly DueDelivery[]>;
  /** Takes one for `leaseMs`, in which nobody else gets it; null when it is not due (any more). */
  claim(delivery: DueDelivery, holder: string, leaseMs: number): Promise<ClaimedDelivery | null>;
  /** False when the lease was over and somebody else has taken it. */
  settle(delivery: DueDelivery, holder: string, settlement: DeliverySettlement): Promise<boolean>;
  /** Where the delivery of the latest event stands; null when none is or was owed. */
  stateOf(
    delivery: Omit<DueDelivery, "event">,
    events: readonly WebhookEvent[],
  ): Promise<WebhookDelivery | null>;
  /** Calls back when a delivery has been owed; a hint that can be lost. */
  onOwed(listener: () => void): () => void;
}
