import { useEffect, useRef, useState } from "preact/hooks";
import { useApi, usePolled } from "../api/use-api.js";
import type { CommandSummaryWire } from "../api/wire.js";
import { Badge } from "../shell/badge.js";
import { Fault, NeedsScope } from "../shell/fault.js";
import { goTo, linkTo } from "../shell/route.js";
import { TableHead } from "../shell/table-head.js";
import { useKeys } from "../shell/use-keys.js";
import { durationText, timeText } from "../text/quantity-text.js";
import { ArgvLine } from "../text/quoted.js";
import { useNow } from "../text/use-now.js";
import { appendOlder, type CommandList, mergeNewest, NO_COMMANDS, release } from "./merge-commands.js";

const EVERY_MS = 3_000;
const PAGE = 50;
const STATES = [
  "awaiting_approval",
  "queued",
  "dispatched",
  "finished",
] as const satisfies readonly CommandSummaryWire["state"][];
const OUTCOMES = [
  "completed",
  "denied",
  "approval_denied",
  "approval_expired",
  "cancelled",
  "start_failed",
  "timed_out",
  "output_limit_exceeded",
  "out_of_memory",
  "lost",
] as const satisfies readonly CommandSummaryWire["outcome"][];

interface CommandPage {
  readonly commands: readonly CommandSummaryWire[];
  readonly next_cursor: string | null;
}

/** Every command of the tenant, newest first, as they go. */
export function CommandsPage() {
  const api = useApi();
  const [state, setState] = useState("");
  const [outcome, setOutcome] = useState("");
  const [session, setSession] = useState("");
  const filter = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => filter.current?.focus() });
  if (!api.may("commands:read")) return <NeedsScope scope="commands:read" what="The list of commands" />;

  // An outcome is known of finished commands only; the API's own filter is narrowed by it.
  const asked = outcome !== "" ? "finished" : state;
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (asked !== "") query.set("state", asked);
  if (session.trim() !== "") query.set("session", session.trim());
  return (
    <div class="page">
      <header class="list-head">
        <h1>Commands</h1>
      </header>
      <div class="filters">
        <label class="field">
          <span>State</span>
          <select
            value={asked}
            disabled={outcome !== ""}
            onChange={(event) => setState(event.currentTarget.value)}
          >
            <option value="">any</option>
            {STATES.map((each) => (
              <option key={each} value={each}>
                {each.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Outcome</span>
          <select value={outcome} onChange={(event) => setOutcome(event.currentTarget.value)}>
            <option value="">any</option>
            {OUTCOMES.map((each) => (
              <option key={each} value={each}>
                {each.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </label>
        <label class="field field-grow">
          <span>Session</span>
          <input
            ref={filter}
            class="mono-field"
            value={session}
            placeholder="ses_…"
            spellcheck={false}
            onChange={(event) => setSession(event.currentTarget.value)}
          />
        </label>
      </div>
      <Rows key={query.toString()} query={query.toString()} outcome={outcome} />
    </div>
  );
}

function Rows(props: { readonly query: string; readonly outcome: string }) {
  const api = useApi();
  const nowMs = useNow();
  const [list, setList] = useState<CommandList>(NO_COMMANDS);
  const [older, setOlder] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: null });
  const body = useRef<HTMLDivElement>(null);
  const newest = usePolled<CommandPage>("newest", EVERY_MS, (signal) =>
    api.get(`/v1/commands?${props.query}`, signal),
  );

  useEffect(() => {
    const page = newest.value;
    if (page === null) return;
    const place = body.current;
    const isInUse = place !== null && (place.matches(":hover") || place.contains(document.activeElement));
    setList((old) => mergeNewest(old, page, isInUse));
  }, [newest.value]);

  const loadOlder = async () => {
    setOlder({ busy: true, error: null });
    try {
      const page = await api.get<CommandPage>(
        `/v1/commands?${props.query}&cursor=${encodeURIComponent(list.next ?? "")}`,
      );
      setList((old) => appendOlder(old, page));
      setOlder({ busy: false, error: null });
    } catch (error) {
      setOlder({ busy: false, error });
    }
  };

  const rows = list.shown.filter((command) => props.outcome === "" || command.outcome === props.outcome);
  const move = (step: number) => {
    const links = [...(body.current?.querySelectorAll<HTMLElement>("a.row-link") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[at === -1 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
  });

  return (
    <>
      <Fault error={newest.error} />
      <div class="held">
        {list.held.length > 0 && (
          <button type="button" class="button button-quiet" onClick={() => setList(release)}>
            Show {list.held.length} new
          </button>
        )}
      </div>
      <div ref={body}>
        <table class="table">
          <TableHead words={["Command", "State"]} numbers={["Took", "Asked"]} />
          <tbody>
            {rows.map((command, index) => (
              <tr key={command.command_id} onClick={() => goTo(linkTo("commands", command.command_id))}>
                <td>
                  <a
                    class="row-link"
                    href={linkTo("commands", command.command_id)}
                    tabIndex={index === 0 ? 0 : -1}
                  >
                    <ArgvLine argv={command.argv} />
                  </a>
                </td>
                <td>
                  <Badge word={command.outcome ?? command.state} />
                  {command.returncode !== null && command.returncode !== 0 && (
                    <span class="muted small"> {command.returncode}</span>
                  )}
                </td>
                <td class="number">
                  {command.duration_ms === null ? "" : durationText(command.duration_ms)}
                </td>
                <td class="number">{timeText(command.created_at, nowMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {newest.value !== null && rows.length === 0 && (
        <div class="empty">
          <h2>No such command</h2>
          <p>
            {props.outcome === ""
              ? "Nothing matches these filters."
              : `None of the ${list.shown.length} finished ones loaded.`}
          </p>
        </div>
      )}
      <Fault error={older.error} />
      {list.next !== null && (
        <p class="more">
          <button type="button" class="button" disabled={older.busy} onClick={() => void loadOlder()}>
            Load older
          </button>
          {props.outcome !== "" && (
            <span class="muted small">The outcome is looked for in what is loaded.</span>
          )}
        </p>
      )}
    </>
  );
}
