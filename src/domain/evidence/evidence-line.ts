import { canonicalJson } from "../canonical-json.js";
import type { SignedCheckpoint } from "./checkpoint.js";
import type { ChainedRecord } from "./evidence-record.js";

/** One line of an evidence file, without its newline: canonical JSON of a record with its hash, or of a signed checkpoint. */
export function writeEvidenceLine(entry: ChainedRecord | SignedCheckpoint): string {
  return "record" in entry
    ? canonicalJson({ hash: entry.hash, record: entry.record })
    : canonicalJson({ checkpoint: entry.checkpoint, signature: entry.signature });
}
