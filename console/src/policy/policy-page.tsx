import { useMemo, useRef, useState } from "preact/hooks";
import { useApi, usePolled } from "../api/use-api.js";
import type { DecisionWire, SessionWire } from "../api/wire.js";
import { DecisionLayers } from "../decision/decision-layers.js";
import { Badge } from "../shell/badge.js";
import { Fault, NeedsScope } from "../shell/fault.js";
import { TableHead } from "../shell/table-head.js";
import { useKeys } from "../shell/use-keys.js";
import { Name, Words } from "../text/quoted.js";
import { findRules, summarizePolicy } from "./rule-rows.js";

const EVERY_MS = 15_000;

/** The policy in force: its rules, and what it says of an argv. */
export function PolicyPage() {
  const api = useApi();
  if (!api.may("policy:read")) return <NeedsScope scope="policy:read" what="The policy" />;
  return <Page />;
}

function Page() {
  const api = useApi();
  const loaded = usePolled<{ version: string; document: unknown }>("policy", EVERY_MS, (signal) =>
    api.get("/v1/policy", signal),
  );
  const [search, setSearch] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  const document = loaded.value?.document;
  const summary = useMemo(() => summarizePolicy(document), [document]);
  const rules = findRules(summary.rules, search);
  return (
    <div class="page">
      <header class="list-head">
        <h1>Policy</h1>
      </header>
      <Fault error={loaded.error} />
      {loaded.value !== null && (
        <p class="muted small">
          Version <code class="hash">{loaded.value.version}</code> · what no rule matches is{" "}
          <Badge word={summary.fallback} />
        </p>
      )}
      <Explain />
      <section aria-labelledby="rules-title">
        <div class="filters">
          <h2 id="rules-title">
            {rules.length === summary.rules.length
              ? summary.rules.length
              : `${rules.length} of ${summary.rules.length}`}{" "}
            rules
          </h2>
          <label class="field field-grow">
            <span>Find</span>
            <input
              ref={field}
              value={search}
              spellcheck={false}
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
          </label>
        </div>
        <table class="table">
          <TableHead words={["Rule", "Says", "Of", "Because"]} />
          <tbody>
            {rules.map((rule) => (
              <tr key={rule.id}>
                <td>
                  <Name text={rule.id} />
                </td>
                <td>
                  <Badge word={rule.decision} />
                </td>
                <td class="pattern">
                  {rule.pattern.map((token, index) => (
                    <code key={index}>
                      <Words text={token} />{" "}
                    </code>
                  ))}
                  {!rule.isExact && <span class="muted">…</span>}
                  {rule.conditions.map((condition) => (
                    <span key={condition} class="layer-code">
                      <Words text={condition} />
                    </span>
                  ))}
                </td>
                <td>
                  <Words text={rule.reason} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {summary.sections.length > 0 && (
        <p class="muted small">
          Also in it:{" "}
          {summary.sections.map(([name, size]) => `${name.replaceAll("_", " ")} ${size}`).join(" · ")}
        </p>
      )}
    </div>
  );
}

/** The whole pipeline as a dry run. */
function Explain() {
  const api = useApi();
  const maySessions = api.may("sessions:read");
  const sessions = usePolled<{ sessions: SessionWire[] }>("sessions", null, async (signal) =>
    maySessions ? api.get("/v1/sessions?limit=100", signal) : { sessions: [] },
  );
  const [sessionId, setSessionId] = useState("");
  const [text, setText] = useState('["npm", "test"]');
  const [answer, setAnswer] = useState<DecisionWire | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [malformed, setMalformed] = useState(false);
  const known = sessions.value?.sessions ?? [];
  const chosen = sessionId === "" ? (known[0]?.session_id ?? "") : sessionId;

  const explain = async (event: Event) => {
    event.preventDefault();
    setError(null);
    const argv = readArgv(text);
    setMalformed(argv === null);
    if (argv === null) return;
    try {
      const { decision } = await api.post<{ decision: DecisionWire }>("/v1/policy/explain", {
        session_id: chosen.trim(),
        argv,
      });
      setAnswer(decision);
    } catch (fault) {
      setAnswer(null);
      setError(fault);
    }
  };
  return (
    <section class="panel" aria-labelledby="explain-title">
      <h2 id="explain-title">What would it say?</h2>
      <form class="explain" onSubmit={(event) => void explain(event)}>
        <label class="field">
          <span>argv, as a JSON array</span>
          <textarea
            class="mono-field"
            rows={1}
            spellcheck={false}
            value={text}
            aria-invalid={malformed}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <label class="field" for="explain-session">
          <span>In the session</span>
          {known.length > 0 ? (
            <select
              id="explain-session"
              class="mono-field"
              value={chosen}
              onChange={(event) => setSessionId(event.currentTarget.value)}
            >
              {known.map((each) => (
                <option key={each.session_id} value={each.session_id}>
                  {each.workspace_id} · {each.session_id}
                </option>
              ))}
            </select>
          ) : (
            <input
              id="explain-session"
              class="mono-field"
              value={sessionId}
              placeholder="ses_…"
              spellcheck={false}
              onInput={(event) => setSessionId(event.currentTarget.value)}
            />
          )}
        </label>
        <button type="submit" class="button button-main">
          Explain
        </button>
      </form>
      {malformed && (
        <p class="fault" role="alert">
          This is not a JSON array of strings.
        </p>
      )}
      <Fault error={error} />
      <div aria-live="polite">
        {answer !== null && (
          <>
            <p class="explained">
              <Badge word={answer.verdict} />{" "}
              <span class="muted small">Nothing was consumed, and nothing ran.</span>
            </p>
            <DecisionLayers decision={answer} />
          </>
        )}
      </div>
    </section>
  );
}

function readArgv(text: string): readonly string[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : null;
  } catch {
    return null;
  }
}
