import type { SignedCheckpoint } from "../../domain/evidence/checkpoint.js";
import type { ChainedRecord } from "../../domain/evidence/evidence-record.js";
import type { EvidenceMirror, MirrorTail } from "../../ports/evidence-mirror.js";
import type { EvidenceStore } from "../../ports/evidence-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";

/** Brings a tenant's file up to the end of its chain; true when it is there. */
export type MirrorEvidence = (tenant: string) => Promise<boolean>;

const BATCH = 200;

/**
 * Files follow the store: whatever a file lacks, a crash or another host left out, is taken from there. A file that says
 * something else than the store (which then lost its newest records) is kept under another name, and a new one begun.
 */
export function createMirrorEvidence(deps: {
  readonly evidence: EvidenceStore;
  readonly mirror: EvidenceMirror;
  readonly log: Log;
  readonly metrics: Metrics;
}): MirrorEvidence {
  const { evidence, mirror, log } = deps;

  /** Whether what the file ends with is what the store has there, or what it was cut behind. */
  const continues = async (tenant: string, tail: MirrorTail): Promise<boolean> => {
    if (tail.seq === 0) return true;
    const [same] = await evidence.records(tenant, tail.seq, 1);
    if (same?.record.seq === tail.seq) return same.hash === tail.hash;
    const cut = (await evidence.head(tenant)).cut?.checkpoint;
    return cut?.seq === tail.seq && cut.hash === tail.hash;
  };

  return async (tenant) => {
    let tail = await mirror.tail(tenant);
    if (!(await continues(tenant, tail))) {
      const name = await mirror.setAside(tenant);
      deps.metrics.count("bailiff_evidence_files_set_aside_total");
      log.error(
        { tenant, seq: tail.seq, file: name },
        "an evidence file does not go on in Redis, which lost records or was restored; it is kept under another name",
      );
      tail = await mirror.tail(tenant);
    }
    for (;;) {
      const records = await evidence.records(tenant, tail.seq + 1, BATCH);
      const last = records.at(-1);
      const upTo = last?.record.seq ?? tail.seq;
      const seals = await evidence.seals(tenant, tail.sealedSeq + 1, upTo);
      const cut = tail.seq === 0 ? (await evidence.head(tenant)).cut : null;
      const entries = [...(cut === null ? [] : [cut]), ...interleave(records, seals)];
      if (entries.length > 0) await mirror.append(tenant, entries);
      tail = {
        seq: upTo,
        hash: last?.hash ?? tail.hash,
        sealedSeq: seals.at(-1)?.checkpoint.seq ?? tail.sealedSeq,
      };
      if (records.length < BATCH) return true;
    }
  };
}

/** Each seal behind its record. */
function interleave(
  records: readonly ChainedRecord[],
  seals: readonly SignedCheckpoint[],
): readonly (ChainedRecord | SignedCheckpoint)[] {
  const first = records[0]?.record.seq ?? Number.POSITIVE_INFINITY;
  const bySeq = new Map(seals.map((seal) => [seal.checkpoint.seq, seal]));
  return [
    ...seals.filter(({ checkpoint }) => checkpoint.seq < first),
    ...records.flatMap((chained) => {
      const seal = bySeq.get(chained.record.seq);
      return seal === undefined ? [chained] : [chained, seal];
    }),
  ];
}
