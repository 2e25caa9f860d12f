import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { renderArgv } from "../../../src/domain/rendering/render-argv.js";
import { wordsOf } from "../api/api-client.js";
import { useApi } from "../api/use-api.js";
import type { CommandWire } from "../api/wire.js";
import { DecisionLayers } from "../decision/decision-layers.js";
import { EvidenceSection } from "../evidence/evidence-section.js";
import { Badge } from "../shell/badge.js";
import { DialogFoot } from "../shell/dialog-foot.js";
import { Fact, Facts } from "../shell/facts.js";
import { Fault, NeedsScope } from "../shell/fault.js";
import { linkTo } from "../shell/route.js";
import { useKeys } from "../shell/use-keys.js";
import { OutputView } from "../text/output-view.js";
import { bytesText, durationText, timeText } from "../text/quantity-text.js";
import { ArgvBlock, Name, Quoted, SHOWN_AT_ONCE, Words } from "../text/quoted.js";
import { useNow } from "../text/use-now.js";
import { useCommand } from "./use-command.js";

const EFFECTS: Readonly<Record<string, string>> = {
  none: "It never started: nothing was touched.",
  completed: "It ran to its own end.",
  unknown: "What it did is not known. Look before anything is done again.",
};

/** Everything there is about one command. */
export function CommandPage(props: { readonly id: string; announce(words: string): void }) {
  const api = useApi();
  if (!api.may("commands:read")) return <NeedsScope scope="commands:read" what="A command" />;
  return <Page key={props.id} {...props} />;
}

function Page(props: { readonly id: string; announce(words: string): void }) {
  const api = useApi();
  const loaded = useCommand(props.id);
  const nowMs = useNow();
  const [asksCancel, setAsksCancel] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const command = loaded.value;
  const mayCancel =
    api.may("commands:write") &&
    command !== null &&
    command.state !== "finished" &&
    !command.cancel_requested;
  useKeys({
    x: () => {
      if (mayCancel) setAsksCancel(true);
    },
  });

  if (command === null) {
    return (
      <div class="page" aria-busy={loaded.error === null}>
        <a href={linkTo("commands")}>← All commands</a>
        <Fault error={loaded.error} />
      </div>
    );
  }
  const rendering = renderArgv(command.argv);
  return (
    <div class="page page-command">
      <a class="small" href={linkTo("commands")}>
        ← All commands
      </a>
      <header class="detail-head command-head">
        <h1>
          <Badge word={command.outcome ?? command.state} />
          {command.returncode !== null && <span class="returncode">returncode {command.returncode}</span>}
          {command.signal !== null && <span class="returncode">by {command.signal}</span>}
        </h1>
        {mayCancel && (
          <button type="button" class="button button-deny" onClick={() => setAsksCancel(true)}>
            Cancel <kbd>x</kbd>
          </button>
        )}
        {command.cancel_requested && command.state !== "finished" && (
          <span class="muted">being cancelled …</span>
        )}
      </header>
      <ArgvBlock text={rendering.text} shown={isWhole ? rendering.text.length : SHOWN_AT_ONCE} />
      {!isWhole && rendering.text.length > SHOWN_AT_ONCE && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          {SHOWN_AT_ONCE} of {rendering.text.length} characters shown: show all
        </button>
      )}
      <p class="measure">
        {rendering.tokens} {rendering.tokens === 1 ? "token" : "tokens"} · {rendering.characters} characters ·{" "}
        {rendering.bytes} bytes
      </p>
      <Fault error={loaded.error} />
      <Steps command={command} nowMs={nowMs} />
      {command.effect !== null && (
        <p class={command.effect === "unknown" ? "standing standing-odd" : "standing"}>
          <strong>Effect {command.effect}.</strong> {EFFECTS[command.effect]}
          {command.detail !== null && (
            <>
              {" "}
              <Words text={command.detail} />
            </>
          )}
          {command.start_failure !== null && (
            <>
              {" "}
              {command.start_failure.stage}: {command.start_failure.errno},{" "}
              <Words text={command.start_failure.message} />
            </>
          )}
        </p>
      )}
      {command.state === "awaiting_approval" && command.approval_id !== null && (
        <p class="standing">
          It waits for a person. <a href={linkTo("approvals", command.approval_id)}>Go to the approval</a>
        </p>
      )}

      <Streams command={command} />

      <h2 class="section">The decision, layer by layer</h2>
      <DecisionLayers decision={command.decision} />

      <h2 class="section">What it ran with</h2>
      <Facts>
        <Fact name="Directory">
          <Quoted text={command.cwd} />
        </Fact>
        <Fact name="Timeout">{command.timeout_s} s</Fact>
        <Fact name="Workspace">
          <Name text={command.workspace_id} />
        </Fact>
        <Fact name="Profile">
          <Name text={command.profile} />
        </Fact>
        {command.usage !== null && (
          <>
            <Fact name="Wall time">{durationText(command.usage.wall_ms)}</Fact>
            <Fact name="CPU time">
              {command.usage.cpu_ms === null ? "not known" : durationText(command.usage.cpu_ms)}
            </Fact>
            <Fact name="Peak memory">
              {command.usage.peak_memory_bytes === null
                ? "not known"
                : bytesText(command.usage.peak_memory_bytes)}
            </Fact>
            <Fact name="OOM kills">{command.usage.oom_kills ?? "not known"}</Fact>
          </>
        )}
        {command.label !== null && (
          <Fact name="Label">
            <Name text={command.label.sensitivity} />, trust <Name text={command.label.trust} />
          </Fact>
        )}
        {command.reason !== null && (
          <Fact name="They said" wide>
            <Quoted text={command.reason} />
          </Fact>
        )}
        <Fact name="Command" wide>
          <code class="hash">{command.command_id}</code>
        </Fact>
        <Fact name="Session" wide>
          <code class="hash">{command.session_id}</code>
        </Fact>
        <Fact name="Image" wide>
          <code class="hash">{command.image_digest}</code>
        </Fact>
        {command.container_id !== null && (
          <Fact name="Container" wide>
            <code class="hash">{command.container_id}</code>
          </Fact>
        )}
      </Facts>

      <EvidenceSection commandId={command.command_id} isFinished={command.state === "finished"} />
      {asksCancel && (
        <CancelDialog
          commandId={command.command_id}
          argvText={rendering.text}
          onClose={() => setAsksCancel(false)}
          onCancelled={() => {
            setAsksCancel(false);
            props.announce("Cancelled.");
            loaded.reload();
          }}
        />
      )}
    </div>
  );
}

function Steps(props: { readonly command: CommandWire; readonly nowMs: number }) {
  const { command, nowMs } = props;
  const steps: [string, string | null][] = [
    ["asked", command.created_at],
    ["queued", command.queued_at],
    ["dispatched", command.dispatched_at],
    ["ended", command.finished_at],
  ];
  return (
    <ol class="steps" aria-label="Its life">
      {steps.map(([name, at]) => (
        <li key={name} class={at === null ? "step" : "step step-done"}>
          <span class="step-name">{name}</span>
          <span class="muted small">{at === null ? "—" : timeText(at, nowMs)}</span>
        </li>
      ))}
      {command.duration_ms !== null && <li class="step-took">took {durationText(command.duration_ms)}</li>}
    </ol>
  );
}

function Streams(props: { readonly command: CommandWire }) {
  const { command } = props;
  const partial = command.partial_output;
  const streams = (["stdout", "stderr"] as const).map((name) => ({
    name,
    text: command[name] ?? partial?.[name] ?? null,
    bytes: command[`${name}_bytes`],
    truncatedBy: command[`${name}_truncated_by`],
    isTruncated: command[`${name}_truncated`],
    isReplaced: command.utf8_replaced[name],
  }));
  if (command.result_omitted) {
    return (
      <p class="warn">
        The output was larger than a result may be and was not kept; its size and SHA-256 are in the evidence.
      </p>
    );
  }
  if (streams.every(({ text }) => text === null)) return null;
  return (
    <>
      {partial !== null && (
        <p class="warn">It was killed: this is what it had said until then, not a result.</p>
      )}
      {streams.map(({ name, text, bytes, truncatedBy, isTruncated, isReplaced }) => (
        <section key={name}>
          <h2 class="section stream-head">
            {name}
            <span class="muted">{bytes === null ? "" : bytesText(bytes)}</span>
            {isTruncated && (
              <Badge
                word={`truncated by ${truncatedBy.map((each) => each.replace("_", " ")).join(", ")}`}
                tone="wait"
              />
            )}
            {isReplaced && <Badge word="not valid UTF-8: replaced" tone="wait" />}
          </h2>
          {text === null || text === "" ? (
            <p class="muted small">nothing</p>
          ) : (
            <OutputView name={name} output={text} />
          )}
        </section>
      ))}
    </>
  );
}

function CancelDialog(props: {
  readonly commandId: string;
  readonly argvText: string;
  onClose(): void;
  onCancelled(): void;
}) {
  const api = useApi();
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const cancel = async () => {
    setBusy(true);
    try {
      await api.post(`/v1/commands/${props.commandId}/cancel`);
      props.onCancelled();
    } catch (error) {
      setBusy(false);
      setFault(wordsOf(error));
    }
  };
  return (
    <dialog ref={dialog} class="decide decide-deny" aria-labelledby="cancel-title" onClose={props.onClose}>
      <h2 id="cancel-title">Cancel this command?</h2>
      <div class="decide-argv">
        <ArgvBlock text={props.argvText} shown={SHOWN_AT_ONCE} />
      </div>
      <p class="muted small">If it runs, it is killed, and what it has done by then is not known.</p>
      <DialogFoot fault={fault} onBack={() => dialog.current?.close()}>
        <button type="button" class="button button-deny" disabled={busy} onClick={() => void cancel()}>
          Cancel it
        </button>
      </DialogFoot>
    </dialog>
  );
}
