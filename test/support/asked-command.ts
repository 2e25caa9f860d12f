import { approvalIdOf, pendingApproval } from "../../src/domain/approval/approval.js";
import type { CommandRecord } from "../../src/domain/command.js";
import type { Session } from "../../src/domain/session.js";
import { aRecord, NO_QUOTAS, type StoreFixture } from "./redis-fixtures.js";

/** A command that waits for a person, but for what is given; `binding` says what its approval is about. */
export function anAskedRecord(
  session: Session,
  given: Partial<CommandRecord> & { binding?: string } = {},
): CommandRecord {
  const { binding = "b".repeat(64), ...more } = given;
  const record = aRecord(session, { state: "awaiting_approval", principalId: "agent", ...more });
  const approvalId = approvalIdOf(record.id);
  return { ...record, approvalId, approval: pendingApproval(approvalId, { binding, files: [] }) };
}

/** Admits one that waits; its record as it was sent. */
export async function admitAsked(
  fixture: StoreFixture,
  session: Session,
  given: Partial<CommandRecord> & { binding?: string } = {},
  approvalExpiryMs = 60_000,
): Promise<CommandRecord> {
  const record = anAskedRecord(session, given);
  const answer = await fixture.commands.admit({
    record,
    idempotency: null,
    quotas: NO_QUOTAS,
    sessionVersion: null,
    approvalExpiryMs,
  });
  if (answer.kind !== "admitted") throw new Error(`not admitted: ${JSON.stringify(answer)}`);
  return record;
}
