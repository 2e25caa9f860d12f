import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiProblem, wordsOf } from "../api/api-client.js";
import { useApi } from "../api/use-api.js";
import type { ApprovalWire } from "../api/wire.js";
import { DialogFoot } from "../shell/dialog-foot.js";
import { ArgvBlock } from "../text/quoted.js";

/** What a reviewer is about to say, of exactly one approval as it was shown. */
export interface Pending {
  readonly approval: ApprovalWire;
  readonly decision: "approve" | "deny";
}

/**
 * Asks once more, with the argv in view. It holds the approval it was opened with: whatever comes in behind it, the answer goes to
 * that one.
 */
export function DecideDialog(props: {
  readonly pending: Pending;
  onClose(): void;
  onDecided(approval: ApprovalWire): void;
  onSettled(approvalId: string, state: string): void;
}) {
  const api = useApi();
  const { approval, decision } = props.pending;
  const dialog = useRef<HTMLDialogElement>(null);
  const confirm = useRef<HTMLButtonElement>(null);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const isApproval = decision === "approve";

  useLayoutEffect(() => {
    dialog.current?.showModal();
    confirm.current?.focus();
  }, []);

  const decide = async () => {
    setBusy(true);
    setFault(null);
    try {
      const answer = await api.post<ApprovalWire>(`/v1/approvals/${approval.approval_id}/decision`, {
        decision,
        note: note.trim() === "" ? null : note,
      });
      props.onDecided(answer);
    } catch (error) {
      setBusy(false);
      const state = error instanceof ApiProblem ? error.body["approval_state"] : undefined;
      if (typeof state === "string" && state !== "pending") {
        props.onSettled(approval.approval_id, state);
        return;
      }
      setFault(wordsOf(error));
    }
  };

  return (
    <dialog
      ref={dialog}
      class={`decide decide-${decision}`}
      aria-labelledby="decide-title"
      onClose={props.onClose}
      onCancel={props.onClose}
    >
      <h2 id="decide-title">{isApproval ? "Approve and run this, once?" : "Deny this?"}</h2>
      <div class="decide-argv">
        <ArgvBlock text={approval.rendering.argv_text} shown={approval.rendering.argv_text.length} />
      </div>
      <p class="muted small">
        {approval.rendering.tokens} tokens · {approval.rendering.characters} characters ·{" "}
        <code>{approval.approval_id}</code> · binding <code>{approval.binding_sha256.slice(0, 16)}</code>
      </p>
      <label class="field">
        <span>Note, kept with the approval</span>
        <textarea
          rows={2}
          maxLength={2_000}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </label>
      <DialogFoot fault={fault} onBack={() => dialog.current?.close()}>
        <button
          type="button"
          ref={confirm}
          class={`button button-${decision}`}
          disabled={busy}
          onClick={() => void decide()}
        >
          {isApproval ? "Approve" : "Deny"} <kbd>Enter</kbd>
        </button>
      </DialogFoot>
    </dialog>
  );
}
