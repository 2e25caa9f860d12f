import type { Redis } from "ioredis";
import { canonicalJson } from "../../domain/canonical-json.js";
import type { SignedCheckpoint } from "../../domain/evidence/checkpoint.js";
import { writeEvidenceLine } from "../../domain/evidence/evidence-line.js";
import type { EvidenceEvent } from "../../domain/evidence/evidence-of.js";
import {
  type ApprovalWords,
  type ChainedRecord,
  EMPTY_CHAIN,
  EVIDENCE_KINDS,
} from "../../domain/evidence/evidence-record.js";
import type { EvidenceHead, EvidenceStore, OwedEvidence } from "../../ports/evidence-store.js";
import type { CommandEvents } from "./command-events.js";
import type { Keys } from "./keys.js";
import { runPipeline } from "./pipeline.js";
import { pairs, readRecord } from "./record-format.js";
import type { RunScript } from "./scripts.js";
import { orUnavailable } from "./store-failure.js";

type StreamEntry = [id: string, fields: string[]];

const SEPARATOR = "|";
const SEQ_DIGITS = 16;

/**
 * Evidence in Redis streams. The outbox's entries carry the command's record as it was, so that none waits for a record that
 * may expire; an entry of a chain has the record's number as its id, so that a chain can't have two of a number.
 */
export function createRedisEvidenceStore(deps: {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly runScript: RunScript;
  readonly events: CommandEvents;
}): EvidenceStore {
  const { redis, keys } = deps;

  const range = (key: string, from: string, to: string, limit: number): Promise<StreamEntry[]> =>
    orUnavailable(() => redis.xrange(key, from, to, "COUNT", limit));

  return {
    async owed(limit) {
      return (await range(keys.evidenceOutbox, "-", "+", limit)).map(readOwed);
    },

    async head(tenant) {
      return readHead(await orUnavailable(() => redis.hgetall(keys.evidenceHead(tenant))));
    },

    async append(tenant, head, records) {
      const reply = await deps.runScript(
        "append-evidence",
        [
          keys.evidenceOutbox,
          keys.evidenceHead(tenant),
          keys.evidenceRecords(tenant),
          keys.evidenceIndex(tenant),
          keys.evidenceTenants,
        ],
        [
          tenant,
          String(head.seq),
          head.hash,
          ...records.flatMap(({ entryId, chained }) => [
            entryId,
            String(chained.record.seq),
            chained.hash,
            canonicalJson(chained.record),
            indexMember(chained),
          ]),
        ],
      );
      return reply === "done";
    },

    async seal(signed) {
      const { tenant, seq, hash, time } = signed.checkpoint;
      const reply = await deps.runScript(
        "seal-evidence",
        [keys.evidenceHead(tenant), keys.evidenceRecords(tenant), keys.evidenceCheckpoints(tenant)],
        [String(seq), hash, writeEvidenceLine(signed), String(Date.parse(time))],
      );
      return reply === 1;
    },

    async cut(signed, records) {
      const { tenant, seq } = signed.checkpoint;
      await deps.runScript(
        "cut-evidence",
        [
          keys.evidenceHead(tenant),
          keys.evidenceRecords(tenant),
          keys.evidenceCheckpoints(tenant),
          keys.evidenceIndex(tenant),
        ],
        [String(seq), writeEvidenceLine(signed), ...records.map(indexMember)],
      );
    },

    async records(tenant, fromSeq, limit) {
      return (await range(keys.evidenceRecords(tenant), `${fromSeq}-0`, "+", limit)).map(readChained);
    },

    async seals(tenant, fromSeq, toSeq) {
      if (toSeq < fromSeq) return [];
      const key = keys.evidenceCheckpoints(tenant);
      const entries = await orUnavailable(() => redis.xrange(key, `${fromSeq}-0`, `${toSeq}-0`));
      return entries.map(readSeal);
    },

    async sealOf(tenant, seq) {
      const [entry] = await range(keys.evidenceCheckpoints(tenant), `${seq}-0`, "+", 1);
      return entry === undefined ? null : readSeal(entry);
    },

    async ofCommand(tenant, commandId) {
      const members = await orUnavailable(() =>
        redis.zrangebylex(
          keys.evidenceIndex(tenant),
          `[${commandId}${SEPARATOR}`,
          `(${commandId}${SEPARATOR}~`,
        ),
      );
      const pipeline = redis.pipeline();
      for (const member of members) {
        const id = `${Number(member.slice(-SEQ_DIGITS))}-0`;
        pipeline.xrange(keys.evidenceRecords(tenant), id, id);
      }
      return (await runPipeline(pipeline)).flatMap((entries) => (entries as StreamEntry[]).map(readChained));
    },

    tenants: () => orUnavailable(() => redis.smembers(keys.evidenceTenants)),

    async signingKeyId(keyId) {
      await orUnavailable(() => redis.set(keys.evidenceKey, keyId, "NX"));
      return (await orUnavailable(() => redis.get(keys.evidenceKey))) ?? keyId;
    },

    onOwed(listener) {
      const stops = [deps.events.onChanged(listener), deps.events.onCancel(listener)];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** In order of the command, then of the record. */
function indexMember({ record }: ChainedRecord): string {
  return `${record.command_id}${SEPARATOR}${String(record.seq).padStart(SEQ_DIGITS, "0")}`;
}

function readOwed([entryId, flat]: StreamEntry): OwedEvidence {
  const fields = pairs(flat);
  return { entryId, tenant: fields["tenant"] ?? "", event: readEvent(fields) };
}

function readEvent(fields: Readonly<Record<string, string>>): EvidenceEvent | null {
  const kind = EVIDENCE_KINDS.find((one) => one === fields["evidenceKind"]);
  if (kind === undefined) return null;
  try {
    const record = readRecord(fields);
    if (record === null) return null;
    return { kind, atMs: Number(fields["evidenceAtMs"]), record, approval: readApproval(fields) };
  } catch {
    return null;
  }
}

function readApproval(fields: Readonly<Record<string, string>>): ApprovalWords | null {
  const decision = fields["approvalState"];
  const decidedBy = fields["approvalDecidedBy"];
  if (decision === undefined || decidedBy === undefined) return null;
  return { decision, decided_by: decidedBy, note: fields["approvalNote"] ?? null };
}

function readHead(fields: Readonly<Record<string, string>>): EvidenceHead {
  const cut = fields["cut"];
  return {
    seq: Number(fields["seq"] ?? EMPTY_CHAIN.seq),
    hash: fields["hash"] ?? EMPTY_CHAIN.hash,
    sealedSeq: Number(fields["sealedSeq"] ?? 0),
    sealedAtMs: Number(fields["sealedAtMs"] ?? 0),
    cut: cut === undefined ? null : JSON.parse(cut),
  };
}

function readChained([, flat]: StreamEntry): ChainedRecord {
  const { hash = "", record = "null" } = pairs(flat);
  return { hash, record: JSON.parse(record) };
}

function readSeal([, flat]: StreamEntry): SignedCheckpoint {
  return JSON.parse(pairs(flat)["checkpoint"] ?? "null");
}
