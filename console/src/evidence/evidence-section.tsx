import { useEffect, useState } from "preact/hooks";
import { useApi, usePolled } from "../api/use-api.js";
import type { CommandEvidenceWire } from "../api/wire.js";
import { Badge, type Tone } from "../shell/badge.js";
import { Fault } from "../shell/fault.js";
import { timeText } from "../text/quantity-text.js";
import { Name } from "../text/quoted.js";
import { useNow } from "../text/use-now.js";
import { type EvidenceKey, type RecordVerdict, readEvidenceKey, verifyRecords } from "./verify-records.js";

const EVERY_MS = 4_000;
const SEALS: Readonly<Record<RecordVerdict["seal"], readonly [string, Tone]>> = {
  signed: ["signed", "good"],
  unsigned: ["not signed yet", "plain"],
  unchecked: ["checkpoint not checked", "plain"],
  broken: ["checkpoint broken", "bad"],
  other_key: ["signed by another key", "bad"],
};

/** The records of a command, verified here and not by the service that shows them. */
export function EvidenceSection(props: { readonly commandId: string; readonly isFinished: boolean }) {
  const api = useApi();
  const nowMs = useNow();
  const [isDone, setDone] = useState(false);
  const [evidenceKey, setKey] = useState<EvidenceKey | null>(null);
  const [fault, setFault] = useState(false);
  const [verdicts, setVerdicts] = useState<readonly RecordVerdict[] | null>(null);
  const loaded = usePolled<CommandEvidenceWire>(props.commandId, isDone ? null : EVERY_MS, async (signal) => {
    const evidence = await api.get<CommandEvidenceWire>(`/v1/commands/${props.commandId}/evidence`, signal);
    setDone(evidence.complete && evidence.records.every(({ sealed_by }) => sealed_by !== null));
    return evidence;
  });
  const evidence = loaded.value;
  const canVerify = isSecureContext;

  useEffect(() => {
    if (evidence === null || !canVerify) return;
    let isOver = false;
    verifyRecords(evidence, evidenceKey).then(
      (found) => {
        if (!isOver) setVerdicts(found);
      },
      () => {
        if (!isOver) setVerdicts([]);
      },
    );
    return () => {
      isOver = true;
    };
  }, [evidence, evidenceKey, canVerify]);

  const takeKey = async (pem: string) => {
    setFault(false);
    if (pem.trim() === "") return setKey(null);
    try {
      setKey(await readEvidenceKey(pem));
    } catch {
      setKey(null);
      setFault(true);
    }
  };

  return (
    <section class="evidence" aria-labelledby="evidence-title">
      <h2 class="section" id="evidence-title">
        Evidence
      </h2>
      <Fault error={loaded.error} />
      {!canVerify && (
        <p class="warn">A browser verifies only on a page that came by https or from this machine itself.</p>
      )}
      {evidence !== null && (
        <ol class="layers">
          {evidence.records.map(({ hash, record }) => {
            const verdict = verdicts?.find(({ seq }) => seq === record.seq);
            return (
              <li key={hash} class="record">
                <span class="layer-name">{record.kind.replaceAll("_", " ")}</span>
                <span class="record-words">
                  <span>
                    record {record.seq} · {timeText(record.time, nowMs)}
                    {record.approval !== null && (
                      <>
                        {" "}
                        · {record.approval.decision} by <Name text={record.approval.decided_by} />
                      </>
                    )}
                  </span>
                  <code class="hash">{hash}</code>
                </span>
                <span class="record-verdicts">{verdict !== undefined && <Verdict verdict={verdict} />}</span>
              </li>
            );
          })}
        </ol>
      )}
      {evidence !== null && !evidence.complete && (
        <p class="muted small">
          {props.isFinished ? "The final record is being written." : "More comes with its end."}
        </p>
      )}
      <details class="key-entry">
        <summary>Verify the signatures too</summary>
        <label class="field">
          <span>
            The public key, as <code>bailiff audit public-key</code> prints it
          </span>
          <textarea
            class="mono-field"
            rows={3}
            spellcheck={false}
            onChange={(event) => void takeKey(event.currentTarget.value)}
          />
        </label>
        {fault && (
          <p class="fault" role="alert">
            This is not an Ed25519 public key in PEM form.
          </p>
        )}
      </details>
    </section>
  );
}

function Verdict(props: { readonly verdict: RecordVerdict }) {
  const { isWhole, isBound, seal } = props.verdict;
  const [words, tone] = SEALS[seal];
  return (
    <>
      <Badge word={isWhole ? "hash holds" : "edited"} tone={isWhole ? "good" : "bad"} />
      {isBound !== null && (
        <Badge word={isBound ? "bound" : "chain broken"} tone={isBound ? "good" : "bad"} />
      )}
      <Badge word={words} tone={tone} />
    </>
  );
}
