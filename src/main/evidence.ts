import { createPublicKey } from "node:crypto";
import { join } from "node:path";
import { createEvidenceDirectory } from "../adapters/evidence-file/evidence-directory.js";
import { readOrMakeSigningKey, readSigningKey } from "../adapters/evidence-file/signing-key.js";
import { createMirrorEvidence } from "../app/evidence/mirror-evidence.js";
import { createEvidenceWriter } from "../app/evidence/write-evidence.js";
import { createPeriodic } from "../app/periodic.js";
import type { Config } from "../config/config.js";
import { keyIdOf, recordingKey } from "../domain/evidence/checkpoint.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";

/** How often what is owed is looked for, of which no message came, and whether this process leads. */
const ROUND_MS = 1_000;
/** From the first message on until all that is owed by then is written: a command's answer goes before its evidence, and many make one round. */
const GATHER_MS = 100;

/** The configured key's file, or the one that is Bailiff's own to make. */
function signingKeyFileOf(config: Config): string {
  return config.evidence.signingKeyFile ?? join(config.dataDir, "evidence-key.pem");
}

/** The deployment's public key in PEM. Rejects where there is no key yet. */
export async function publicKeyOf(config: Config): Promise<string> {
  const key = createPublicKey(await readSigningKey(signingKeyFileOf(config)));
  return key.export({ type: "spki", format: "pem" }).toString();
}

/**
 * Writes evidence from this process, while it leads, until it is stopped. Rejects where its key can't be used. A process whose
 * key is not the deployment's never leads: it would sign what nobody expects.
 */
export async function startEvidence(foundation: Foundation): Promise<RunningProcess> {
  const { config, metrics, clock, ids, stores } = foundation;
  const { evidence } = config;
  const log = foundation.log.child({ part: "evidence" });
  const path = signingKeyFileOf(config);
  // A key that an operator names must be there: one made here would be another process's stranger.
  const privateKey = await (evidence.signingKeyFile === null ? readOrMakeSigningKey : readSigningKey)(path);
  const keyId = keyIdOf(privateKey);
  const mirror = createEvidenceDirectory(evidence.directory, { maxFileBytes: evidence.maxFileBytes });
  const writer = createEvidenceWriter({
    evidence: stores.evidence,
    leases: stores.leases,
    mirror: createMirrorEvidence({ evidence: stores.evidence, mirror, log, metrics }),
    terms: {
      argv: evidence.argv,
      output: evidence.output,
      secretOptions: evidence.secretOptions,
      hmacKey: recordingKey(privateKey),
    },
    privateKey,
    schedule: {
      checkpointRecords: evidence.checkpointRecords,
      checkpointMs: evidence.checkpointMs,
      ttlMs: config.limits.evidenceTtlMs,
    },
    holder: ids.next("wrk"),
    clock,
    log,
    metrics,
  });
  let isReported = false;
  const periodic = createPeriodic({
    name: "evidence",
    intervalMs: ROUND_MS,
    log,
    metrics,
    work: async () => {
      if ((await stores.evidence.signingKeyId(keyId)) === keyId) return writer.round();
      if (isReported) return;
      isReported = true;
      log.error(
        { key_id: keyId, file: path },
        "this process has another signing key than its deployment and writes no evidence: give every process the same one",
      );
    },
  });
  let gathering: NodeJS.Timeout | undefined;
  const endNudges = stores.evidence.onOwed(() => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      // A failed one is made up for by the period, which says so.
      writer.nudge().catch(() => undefined);
    }, GATHER_MS);
  });
  periodic.start();
  return {
    async stop() {
      endNudges();
      clearTimeout(gathering);
      await periodic.stop();
      await writer.stop().catch((error: unknown) => {
        log.warn({ err: error }, "evidence is still owed; the next process writes it");
      });
      await mirror.close();
    },
  };
}
