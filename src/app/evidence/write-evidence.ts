import type { KeyObject } from "node:crypto";
import { signCheckpoint } from "../../domain/evidence/checkpoint.js";
import { evidenceOf, type RecordingTerms } from "../../domain/evidence/evidence-of.js";
import { type ChainedRecord, type ChainHead, chainRecord } from "../../domain/evidence/evidence-record.js";
import type { Clock } from "../../ports/clock.js";
import type { LeaseStore } from "../../ports/command-store.js";
import type { EvidenceHead, EvidenceStore, OwedEvidence } from "../../ports/evidence-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import type { MirrorEvidence } from "./mirror-evidence.js";

/** When checkpoints are made and how long records stay. */
export interface EvidenceSchedule {
  /** Records of a tenant after which its chain is signed. */
  readonly checkpointRecords: number;
  /** The longest that a record stays unsigned. */
  readonly checkpointMs: number;
  readonly ttlMs: number;
}

/** What turns owed events into signed chains and files. One process does at a time; another one takes over. */
export interface EvidenceWriter {
  /** Takes or keeps the lead, then does all that is owed; nothing in a process that does not lead. */
  round(): Promise<void>;
  /** Does what is owed now, where this process leads; a hint. */
  nudge(): Promise<void>;
  /** Writes and signs what is owed, where this process leads. */
  stop(): Promise<void>;
}

const ROLE = "evidence";
const LEAD_MS = 10_000;
const BATCH = 64;
const CUT_EVERY_MS = 60_000;
const CUT_BATCH = 500;

/**
 * A crash at any point neither loses nor doubles: an event stays owed until the step that appends its record, and that step
 * is refused to whoever saw another end of the chain.
 */
export function createEvidenceWriter(deps: {
  readonly evidence: EvidenceStore;
  readonly leases: Pick<LeaseStore, "lead">;
  readonly mirror: MirrorEvidence;
  readonly terms: RecordingTerms;
  readonly privateKey: KeyObject;
  readonly schedule: EvidenceSchedule;
  /** Names this process among those that may lead. */
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): EvidenceWriter {
  const { evidence, schedule, log, metrics } = deps;
  /** Tenants whose chain is not signed or not in its file up to the end. */
  const unsettled = new Set<string>();
  /** Of those, the ones whose file may lack records. */
  const unmirrored = new Set<string>();
  const reported = new Set<string>();
  let isLeader = false;
  let nextCutAtMs = 0;
  let work: Promise<void> | null = null;
  let isAskedAgain = false;

  const appendFor = async (tenant: string, owed: readonly OwedEvidence[]): Promise<boolean> => {
    let head: ChainHead = await evidence.head(tenant);
    const start = head;
    const records = owed.flatMap(({ entryId, event }) => {
      if (event === null) return [];
      const chained = chainRecord(head, evidenceOf(event, deps.terms));
      head = { seq: chained.record.seq, hash: chained.hash };
      return [{ entryId, chained }];
    });
    if (!(await evidence.append(tenant, start, records))) {
      metrics.count("bailiff_evidence_conflicts_total");
      return false;
    }
    for (const { chained } of records)
      metrics.count("bailiff_evidence_records_total", { kind: chained.record.kind });
    unsettled.add(tenant);
    unmirrored.add(tenant);
    return true;
  };

  const drain = async (): Promise<void> => {
    for (;;) {
      const owed = await evidence.owed(BATCH);
      const readable = owed.filter((entry) => {
        if (entry.event !== null) return true;
        if (!reported.has(entry.entryId)) {
          reported.add(entry.entryId);
          metrics.count("bailiff_evidence_unreadable_total");
          log.error({ entry_id: entry.entryId }, "an event can't be read and stays without a record");
        }
        return false;
      });
      const byTenant = new Map<string, OwedEvidence[]>();
      for (const entry of readable) {
        const of = byTenant.get(entry.tenant) ?? [];
        of.push(entry);
        byTenant.set(entry.tenant, of);
      }
      let appended = false;
      for (const [tenant, entries] of byTenant) appended = (await appendFor(tenant, entries)) || appended;
      // Without progress somebody else writes: the next round sees what is left.
      if (!appended || owed.length < BATCH) return;
    }
  };

  const seal = async (tenant: string, head: EvidenceHead, isLast: boolean): Promise<boolean> => {
    const unsigned = head.seq - head.sealedSeq;
    if (unsigned === 0) return true;
    const isDue =
      isLast ||
      unsigned >= schedule.checkpointRecords ||
      deps.clock.nowMs() - head.sealedAtMs >= schedule.checkpointMs;
    if (!isDue) return false;
    const signed = signCheckpoint(deps.privateKey, "seal", tenant, head, deps.clock.nowMs());
    if (await evidence.seal(signed)) metrics.count("bailiff_evidence_checkpoints_total", { kind: "seal" });
    return true;
  };

  const settle = async (isLast: boolean): Promise<void> => {
    for (const tenant of [...unsettled]) {
      const isSealed = await seal(tenant, await evidence.head(tenant), isLast);
      // It waits for its seal alone.
      if (!isSealed && !unmirrored.has(tenant)) continue;
      const isMirrored = await deps.mirror(tenant).catch((error: unknown) => {
        metrics.count("bailiff_evidence_mirror_failures_total");
        log.error({ tenant, err: error }, "evidence could not be written to its file; it is tried again");
        return false;
      });
      if (isMirrored) unmirrored.delete(tenant);
      else unmirrored.add(tenant);
      if (isSealed && isMirrored) unsettled.delete(tenant);
    }
  };

  /** The sealed records at the beginning that are older than the retention. */
  const expired = async (tenant: string): Promise<readonly ChainedRecord[]> => {
    const head = await evidence.head(tenant);
    const from = (head.cut?.checkpoint.seq ?? 0) + 1;
    const oldest = await evidence.records(tenant, from, CUT_BATCH);
    const beforeMs = deps.clock.nowMs() - schedule.ttlMs;
    const kept = oldest.findIndex(
      ({ record }) => record.seq > head.sealedSeq || Date.parse(record.time) >= beforeMs,
    );
    return kept === -1 ? oldest : oldest.slice(0, kept);
  };

  const cutOff = async (): Promise<void> => {
    if (deps.clock.nowMs() < nextCutAtMs) return;
    nextCutAtMs = deps.clock.nowMs() + CUT_EVERY_MS;
    for (const tenant of await evidence.tenants()) {
      // What the file has not got yet is not removed. A seal that is not due yet holds up nothing: a busy tenant always lacks one.
      if (unmirrored.has(tenant)) continue;
      for (;;) {
        const records = await expired(tenant);
        const last = records.at(-1);
        if (last === undefined) break;
        const head = { seq: last.record.seq, hash: last.hash };
        const cut = signCheckpoint(deps.privateKey, "cut", tenant, head, deps.clock.nowMs());
        await evidence.cut(cut, records);
        metrics.count("bailiff_evidence_checkpoints_total", { kind: "cut" });
        if (records.length < CUT_BATCH) break;
      }
    }
  };

  const lead = async (): Promise<boolean> => {
    const leads = await deps.leases.lead(ROLE, deps.holder, LEAD_MS);
    if (leads && !isLeader) {
      log.info({}, "this process writes evidence");
      for (const tenant of await evidence.tenants()) {
        unsettled.add(tenant);
        unmirrored.add(tenant);
      }
    }
    isLeader = leads;
    return leads;
  };

  /** One at a time; a call meanwhile makes one more. */
  const inTurn = (isFull: boolean): Promise<void> => {
    if (work !== null) {
      isAskedAgain = true;
      return work;
    }
    const run = async () => {
      try {
        if (isFull && !(await lead())) return;
        do {
          isAskedAgain = false;
          await drain();
          await settle(false);
        } while (isAskedAgain);
        if (isFull) await cutOff();
      } finally {
        work = null;
      }
    };
    work = run();
    return work;
  };

  return {
    round: () => inTurn(true),
    nudge: () => (isLeader ? inTurn(false) : Promise.resolve()),
    async stop() {
      await work?.catch(() => undefined);
      if (!isLeader || !(await lead())) return;
      await drain();
      await settle(true);
    },
  };
}
