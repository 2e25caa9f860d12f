import type { CommandRecord } from "../../domain/command.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { WebhookStore } from "../../ports/webhook-store.js";
import type { BailiffServices } from "../services.js";

/** The record with where its delivery stands, for commands of a session with a webhook; any other as it is. */
export async function withDelivery(record: CommandRecord, webhooks: WebhookStore): Promise<CommandRecord> {
  if (record.webhook === undefined) return record;
  const delivery = await webhooks.stateOf(
    { commandId: record.id, tenant: record.tenant, sessionId: record.sessionId },
    record.webhook.events,
  );
  return delivery === null ? record : { ...record, webhookDelivery: delivery };
}

/** The same services, showing with each single command where its delivery stands. */
export function withDeliveries(services: BailiffServices, webhooks: WebhookStore): BailiffServices {
  return {
    ...services,
    async submitCommand(principal, sessionId, submission, options) {
      const answer = await services.submitCommand(principal, sessionId, submission, options);
      // The command is accepted, perhaps over: a detail that can't be read must not make that look like a failure.
      const record = await withDelivery(answer.record, webhooks).catch((error: unknown) => {
        if (error instanceof StoreUnavailable) return answer.record;
        throw error;
      });
      return { ...answer, record };
    },
    getCommand: async (...given) => withDelivery(await services.getCommand(...given), webhooks),
    cancelCommand: async (...given) => withDelivery(await services.cancelCommand(...given), webhooks),
  };
}
