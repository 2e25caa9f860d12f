import { BailiffError } from "../../domain/errors.js";
import type { SignedCheckpoint } from "../../domain/evidence/checkpoint.js";
import type { ChainedRecord, EvidenceKind } from "../../domain/evidence/evidence-record.js";
import { isId } from "../../domain/ids.js";
import type { Principal } from "../../ports/authenticator.js";
import type { CommandStore } from "../../ports/command-store.js";
import type { EvidenceStore } from "../../ports/evidence-store.js";
import { notFound, requireId, requireScope } from "../access.js";

/** A record and the first checkpoint that covers it; null until one does. */
export interface SealedRecord {
  readonly chained: ChainedRecord;
  readonly seal: SignedCheckpoint | null;
}

/** What is known of one command. `complete` once its final record is there. */
export interface CommandEvidence {
  readonly commandId: string;
  readonly records: readonly SealedRecord[];
  readonly complete: boolean;
}

/** Which records to show. */
export interface AuditQuery {
  /** The time of the first; null begins with the oldest. */
  readonly fromMs: number | null;
  readonly kind: EvidenceKind | null;
  readonly sessionId: string | null;
  readonly limit: number;
  readonly cursor: string | null;
}

/** One page of a tenant's evidence, oldest first, with what verification needs: the cut before it and the seals within. */
export interface AuditPage {
  readonly records: readonly ChainedRecord[];
  readonly checkpoints: readonly SignedCheckpoint[];
  readonly nextCursor: string | null;
}

/** Reading evidence. */
export interface EvidenceServices {
  commandEvidence(principal: Principal, commandId: string): Promise<CommandEvidence>;
  audit(principal: Principal, query: AuditQuery): Promise<AuditPage>;
}

/** How many records one page looks at before it answers with a cursor. */
const SCAN_LIMIT = 2_000;
const SCAN_BATCH = 200;

/** Use cases that read evidence; always of the principal's own tenant. */
export function createEvidenceServices(deps: {
  readonly evidence: EvidenceStore;
  readonly commands: Pick<CommandStore, "get">;
}): EvidenceServices {
  const { evidence } = deps;

  const matches = ({ record }: ChainedRecord, query: AuditQuery): boolean =>
    (query.kind === null || record.kind === query.kind) &&
    (query.sessionId === null || record.session_id === query.sessionId) &&
    (query.fromMs === null || Date.parse(record.time) >= query.fromMs);

  return {
    async commandEvidence(principal, commandId) {
      requireScope(principal, "commands:read");
      requireId("cmd", "command", commandId);
      const { tenant } = principal;
      const found = await evidence.ofCommand(tenant, commandId);
      if (found.length === 0 && (await deps.commands.get(commandId))?.tenant !== tenant) {
        throw notFound("command");
      }
      const records: SealedRecord[] = [];
      for (const chained of found) {
        records.push({ chained, seal: await evidence.sealOf(tenant, chained.record.seq) });
      }
      const complete = found.some(({ record: { kind } }) => kind === "finished" || kind === "denied");
      return { commandId, records, complete };
    },

    async audit(principal, query) {
      requireScope(principal, "audit:read");
      if (query.sessionId !== null && !isId("ses", query.sessionId)) throw notFound("session");
      const { tenant } = principal;
      const start = startOf(query.cursor);
      const records: ChainedRecord[] = [];
      let next = start;
      let isMore = true;
      for (
        let scanned = 0;
        scanned < SCAN_LIMIT && isMore && records.length < query.limit;
        scanned += SCAN_BATCH
      ) {
        const batch = await evidence.records(tenant, next, SCAN_BATCH);
        isMore = batch.length === SCAN_BATCH;
        for (const chained of batch) {
          if (records.length === query.limit) {
            isMore = true;
            break;
          }
          next = chained.record.seq + 1;
          if (matches(chained, query)) records.push(chained);
        }
      }
      const cut = start === 1 ? (await evidence.head(tenant)).cut : null;
      return {
        records,
        checkpoints: [...(cut === null ? [] : [cut]), ...(await evidence.seals(tenant, start, next - 1))],
        nextCursor: isMore ? String(next) : null,
      };
    },
  };
}

function startOf(cursor: string | null): number {
  if (cursor === null) return 1;
  if (/^[1-9][0-9]{0,14}$/.test(cursor)) return Number(cursor);
  throw new BailiffError("invalid_request", "the request is not valid", {
    faults: [{ path: "/cursor", message: "must be the next_cursor of a page" }],
  });
}
