import { useState } from "preact/hooks";
import { useApi, usePolled } from "../api/use-api.js";
import type { ApprovalWire, CommandWire } from "../api/wire.js";
import { DecisionLayers } from "../decision/decision-layers.js";
import { Badge } from "../shell/badge.js";
import { Fact, Facts } from "../shell/facts.js";
import { Fault } from "../shell/fault.js";
import { linkTo } from "../shell/route.js";
import { useKeys } from "../shell/use-keys.js";
import { spanText, timeText } from "../text/quantity-text.js";
import { ArgvBlock, Name, Quoted, Rendered, RenderedWords, SHOWN_AT_ONCE } from "../text/quoted.js";
import { useNow } from "../text/use-now.js";
import { DecideDialog, type Pending } from "./decide-dialog.js";

const EVERY_MS = 3_000;
const FOLLOW_MS = 700;

/** One approval with everything that a decision needs, and the two keys that make it. */
export function ApprovalDetail(props: {
  readonly id: string;
  onSettled(approvalId: string): void;
  announce(words: string): void;
}) {
  const api = useApi();
  const loaded = usePolled<ApprovalWire>(props.id, EVERY_MS, (signal) =>
    api.get(`/v1/approvals/${props.id}`, signal),
  );
  if (loaded.value === null) {
    return (
      <section class="detail" aria-label="The approval" aria-busy={loaded.error === null}>
        <Fault error={loaded.error} />
      </section>
    );
  }
  return (
    <Shown
      key={props.id}
      approval={loaded.value}
      error={loaded.error}
      reload={loaded.reload}
      onSettled={props.onSettled}
      announce={props.announce}
    />
  );
}

function Shown(props: {
  readonly approval: ApprovalWire;
  readonly error: unknown;
  reload(): void;
  onSettled(approvalId: string): void;
  announce(words: string): void;
}) {
  const { approval, announce } = props;
  const api = useApi();
  const nowMs = useNow();
  const [pending, setPending] = useState<Pending | null>(null);
  const [isWhole, setWhole] = useState(approval.rendering.argv_text.length <= SHOWN_AT_ONCE);
  const { rendering } = approval;
  const leftMs = approval.expires_at === null ? null : Date.parse(approval.expires_at) - nowMs;
  const isOver = leftMs !== null && leftMs <= 0;
  const waits = approval.state === "pending" && !isOver;
  const mayDecide = api.may("approvals:decide");
  const isOwn = approval.requested_by === api.principal.principal_id;

  const open = (decision: Pending["decision"]) => {
    if (!mayDecide || approval.state !== "pending") return;
    if (decision === "approve" && (isOver || !isWhole)) return;
    setPending({ approval, decision });
  };
  useKeys({ a: () => open("approve"), d: () => open("deny") });
  const settled = (words: string) => {
    setPending(null);
    announce(words);
    props.onSettled(approval.approval_id);
    props.reload();
  };

  return (
    <section class="detail" aria-labelledby="approval-title">
      <header class="detail-head">
        <h2 id="approval-title" class="eyebrow">
          Asks to run
        </h2>
        <span class="detail-state">
          {approval.state === "pending" && isOver ? (
            <Badge word="expired" />
          ) : (
            <Badge word={approval.state} />
          )}
          {waits && leftMs !== null && (
            <span class={leftMs < 60_000 ? "countdown countdown-short" : "countdown"}>
              {spanText(leftMs)} left
            </span>
          )}
        </span>
      </header>

      <ArgvBlock text={rendering.argv_text} shown={isWhole ? rendering.argv_text.length : SHOWN_AT_ONCE} />
      {!isWhole && (
        <p class="warn">
          {SHOWN_AT_ONCE} of {rendering.argv_text.length} characters shown.{" "}
          <button type="button" class="link" onClick={() => setWhole(true)}>
            Show all of it
          </button>{" "}
          before you can approve.
        </p>
      )}
      <p class="measure">
        {rendering.tokens} {rendering.tokens === 1 ? "token" : "tokens"} · {rendering.characters} characters ·{" "}
        {rendering.bytes} bytes
      </p>
      <Marks approval={approval} />

      <Standing approval={approval} isOver={isOver} nowMs={nowMs} />
      <Fault error={props.error} />

      <h3>Why you are asked</h3>
      <ul class="why">
        {rendering.why.map((each, index) => (
          <li key={index}>
            <RenderedWords text={each.reason} />
            <span class="layer-code">
              {each.layer.replaceAll("_", " ")}
              {each.rule_id !== null && ` · rule ${each.rule_id}`} · {each.code}
            </span>
            {each.vector !== null && (
              <span class="layer-vector">
                about <Rendered text={each.vector} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {rendering.inner.length > 0 && (
        <>
          <h3>What runs inside it</h3>
          <ul class="why inner">
            {rendering.inner.map((each, index) => (
              <li key={index}>
                <span class="muted">{each.certain ? "runs" : "may run"}</span> <Rendered text={each.argv} />
                <span class="layer-vector">
                  via <Rendered text={each.via} />
                </span>
              </li>
            ))}
            {rendering.further_inner > 0 && (
              <li class="warn">{rendering.further_inner} more are not shown</li>
            )}
          </ul>
        </>
      )}

      <h3>What it would run with</h3>
      <Facts>
        <Fact name="They say" wide>
          {approval.reason === null ? <span class="muted">nothing</span> : <Quoted text={approval.reason} />}
        </Fact>
        <Fact name="Directory">
          <Quoted text={approval.cwd} />
        </Fact>
        <Fact name="Timeout">{approval.timeout_s} s</Fact>
        <Fact name="Label">
          {approval.label === null ? (
            <span class="muted">none</span>
          ) : (
            <>
              <Name text={approval.label.sensitivity} />, trust <Name text={approval.label.trust} />
              {approval.label.categories.map((each) => (
                <span key={each}>
                  , <Name text={each} />
                </span>
              ))}
            </>
          )}
        </Fact>
        <Fact name="Asked by">
          <Name text={approval.requested_by} /> at {timeText(approval.created_at, nowMs)}
        </Fact>
        <Fact name="Workspace">
          <Name text={approval.workspace_id} />
        </Fact>
        <Fact name="Profile">
          <Name text={approval.profile} />
        </Fact>
        <Fact name="Session" wide>
          <code>{approval.session_id}</code>
        </Fact>
        <Fact name="Image" wide>
          <code class="hash">{approval.image_digest}</code>
        </Fact>
        {approval.files.map((file) => (
          <Fact key={file.path} name="Binds file" wide>
            <Quoted text={file.path} /> <code class="hash">{file.sha256 ?? "must not exist"}</code>
          </Fact>
        ))}
        <Fact name="Binding" wide>
          <code class="hash">{approval.binding_sha256}</code>
        </Fact>
      </Facts>

      <h3>The decision so far</h3>
      <DecisionLayers decision={approval.decision} />

      {approval.state === "pending" && (
        <div class="verdict-bar">
          {mayDecide ? (
            <>
              <button type="button" class="button button-deny" onClick={() => open("deny")}>
                Deny <kbd>d</kbd>
              </button>
              <button
                type="button"
                class="button button-approve"
                disabled={!waits || !isWhole}
                onClick={() => open("approve")}
              >
                Approve <kbd>a</kbd>
              </button>
              {isOwn && (
                <span class="muted small">
                  You asked for this yourself: the approval needs somebody else.
                </span>
              )}
              {isOver && <span class="muted small">Its time is over: it can't be approved any more.</span>}
            </>
          ) : (
            <span class="muted small">To decide needs the scope approvals:decide.</span>
          )}
        </div>
      )}
      {pending !== null && (
        <DecideDialog
          pending={pending}
          onClose={() => setPending(null)}
          onDecided={(answer) => settled(answer.state === "denied" ? "Denied." : "Approved.")}
          onSettled={(_id, state) => settled(`It was settled already: ${state.replaceAll("_", " ")}.`)}
        />
      )}
    </section>
  );
}

/** Which tokens to look at closely, and why. */
function Marks(props: { readonly approval: ApprovalWire }) {
  const { notes, further_notes } = props.approval.rendering;
  const marked = notes.filter(({ marks }) => marks.length > 0);
  if (marked.length === 0 && further_notes === 0) return null;
  return (
    <ul class="marks" aria-label="Tokens to look at closely">
      {marked.map((note) => (
        <li key={note.token_index}>
          <strong>token {note.token_index}</strong>{" "}
          {note.marks.map((mark) => mark.replace("_", "-")).join(", ")}
          <span class="muted">
            {" "}
            · {note.characters} characters, {note.bytes} bytes
          </span>
        </li>
      ))}
      {further_notes > 0 && <li>{further_notes} more need a close look</li>}
    </ul>
  );
}

/** What became of it, once it does not wait any more. */
function Standing(props: {
  readonly approval: ApprovalWire;
  readonly isOver: boolean;
  readonly nowMs: number;
}) {
  const { approval, isOver, nowMs } = props;
  if (approval.state === "pending") {
    return isOver ? (
      <p class="standing">
        <strong>Expired.</strong> Nobody approved it in time; nothing runs.
      </p>
    ) : null;
  }
  return (
    <div class="standing">
      <p>
        <strong>{STANDINGS[approval.state] ?? approval.state}</strong>
        {approval.decided_by !== null && approval.decided_at !== null && (
          <>
            {" "}
            by <Name text={approval.decided_by} /> at {timeText(approval.decided_at, nowMs)}
          </>
        )}
        {approval.note !== null && (
          <>
            : <Quoted text={approval.note} />
          </>
        )}
      </p>
      <Outcome commandId={approval.command_id} />
    </div>
  );
}

const STANDINGS: Readonly<Record<string, string>> = {
  approved: "Approved",
  consumed: "Approved, and dispatched",
  denied: "Denied",
  expired: "Expired: nobody approved it in time",
  cancelled: "Cancelled before a decision",
  void: "Void: the request changed, or policy refuses it by now",
};

/** How the command behind it goes. */
function Outcome(props: { readonly commandId: string }) {
  const api = useApi();
  const mayRead = api.may("commands:read");
  const [ended, setEnded] = useState(false);
  const loaded = usePolled<CommandWire | null>(
    props.commandId,
    ended || !mayRead ? null : FOLLOW_MS,
    async (signal) => {
      if (!mayRead) return null;
      const command = await api.get<CommandWire>(`/v1/commands/${props.commandId}`, signal);
      if (command.state === "finished") setEnded(true);
      return command;
    },
  );
  const command = loaded.value;
  return (
    <p class="outcome" aria-live="polite">
      {command !== null && (
        <>
          <Badge word={command.outcome ?? command.state} />{" "}
          {command.returncode !== null && <span>returncode {command.returncode} </span>}
        </>
      )}
      <a href={linkTo("commands", props.commandId)}>Open the command</a>
    </p>
  );
}
