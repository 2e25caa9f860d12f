import { useEffect, useState } from "preact/hooks";
import { useApi, usePolled } from "../api/use-api.js";
import type { CommandSummaryWire, FleetWire } from "../api/wire.js";
import { Badge, toneOf } from "../shell/badge.js";
import { Fault, NeedsScope } from "../shell/fault.js";
import { TableHead } from "../shell/table-head.js";
import { durationText, spanText } from "../text/quantity-text.js";
import { Name } from "../text/quoted.js";
import { useNow } from "../text/use-now.js";
import { addSample, quantile, type Sample, sampleOf } from "./history.js";
import { Plot, Shares } from "./plot.js";

const EVERY_MS = 5_000;
const LATEST = 200;

/** Workers, queues and pools at a glance. The plots begin when the page is opened: it is the page that remembers. */
export function FleetPage() {
  const api = useApi();
  if (!api.may("admin")) return <NeedsScope scope="admin" what="The fleet" />;
  return <Page />;
}

function Page() {
  const api = useApi();
  const nowMs = useNow();
  const [history, setHistory] = useState<readonly Sample[]>([]);
  const fleet = usePolled<FleetWire>("fleet", EVERY_MS, (signal) => api.get("/v1/workers", signal));
  const ended = usePolled<{ commands: CommandSummaryWire[] }>("ended", EVERY_MS, (signal) =>
    api.get(`/v1/commands?state=finished&limit=${LATEST}`, signal),
  );
  useEffect(() => {
    const value = fleet.value;
    if (value !== null) setHistory((old) => addSample(old, sampleOf(value, api.nowMs())));
  }, [fleet.value]);

  const [boardError, setBoardError] = useState<unknown>(null);
  const openBoard = async () => {
    try {
      await api.visitBoard();
      // A page of its own, that can't reach into this one.
      open("/console/queues", "_blank", "noopener");
    } catch (error) {
      setBoardError(error);
    }
  };

  const commands = ended.value?.commands ?? [];
  // Oldest on the left, as in the other plots.
  const durations = commands
    .flatMap(({ duration_ms }) => (duration_ms === null ? [] : [duration_ms]))
    .toReversed();
  const waits = commands
    .flatMap(({ queued_at, dispatched_at }) =>
      queued_at === null || dispatched_at === null
        ? []
        : [Math.max(0, Date.parse(dispatched_at) - Date.parse(queued_at))],
    )
    .toReversed();
  return (
    <div class="page">
      <header class="list-head">
        <h1>Fleet</h1>
        <button type="button" class="link" onClick={() => void openBoard()}>
          Look into the queues
        </button>
      </header>
      <Fault error={boardError} />
      <Fault error={fleet.error ?? ended.error} />
      <div class="plots">
        <Plot name="Waiting in queues" values={history.map(({ waiting }) => waiting)} show={String} />
        <Plot name="Running" values={history.map(({ active }) => active)} show={String} />
        <Plot name="Waiting for a person" values={history.map(({ approvals }) => approvals)} show={String} />
        <Plot name="Queued before dispatch, latest" values={waits} show={durationText} atLeast={20} />
        <Plot name="Took, latest" values={durations} show={durationText} atLeast={20} />
        <Latency waits={waits} durations={durations} />
      </div>
      {fleet.value !== null && (
        <>
          <h2 class="section">Queues</h2>
          <table class="table">
            <TableHead words={["Pool"]} numbers={["Waiting", "Active", "Delayed", "Workers"]} />
            <tbody>
              {fleet.value.queues.map((queue) => (
                <tr key={queue.pool}>
                  <td>
                    <Name text={queue.pool} />
                  </td>
                  <td class="number">{queue.waiting + queue.prioritized}</td>
                  <td class="number">{queue.active}</td>
                  <td class="number">{queue.delayed}</td>
                  <td class="number">
                    {queue.workers === 0 ? (
                      <Badge word="none: its commands wait" tone="bad" />
                    ) : (
                      queue.workers
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <h2 class="section">Workers</h2>
          <table class="table">
            <TableHead words={["Worker", "State", "Pools"]} numbers={["Running", "Warm", "Up for", "Seen"]} />
            <tbody>
              {fleet.value.workers.map((worker) => (
                <tr key={worker.worker_id}>
                  <td>
                    <Name text={worker.host} />
                    <span class="layer-code">
                      <Name text={worker.worker_id} />
                    </span>
                  </td>
                  <td>
                    <Badge word={worker.state} />
                  </td>
                  <td>
                    {worker.pools.map((pool) => (
                      <span key={pool}>
                        <Name text={pool} />{" "}
                      </span>
                    ))}
                  </td>
                  <td class="number">
                    {worker.running} of {worker.concurrency * worker.pools.length}
                  </td>
                  <td class="number">{worker.warm_containers}</td>
                  <td class="number">{spanText(nowMs - Date.parse(worker.started_at))}</td>
                  <td class="number">{spanText(nowMs - Date.parse(worker.renewed_at))} ago</td>
                </tr>
              ))}
            </tbody>
          </table>
          {fleet.value.workers.length === 0 && (
            <p class="warn">No worker is known: nothing that is queued will run.</p>
          )}
        </>
      )}
      <h2 class="section">How the latest commands ended</h2>
      <Outcomes commands={commands} />
    </div>
  );
}

function Latency(props: { readonly waits: readonly number[]; readonly durations: readonly number[] }) {
  const show = (values: readonly number[], part: number) => {
    const value = quantile(values, part);
    return value === null ? "—" : durationText(value);
  };
  return (
    <dl class="latency">
      <div>
        <dt>queued, half within</dt>
        <dd>{show(props.waits, 0.5)}</dd>
      </div>
      <div>
        <dt>95 of 100 within</dt>
        <dd>{show(props.waits, 0.95)}</dd>
      </div>
      <div>
        <dt>took, half within</dt>
        <dd>{show(props.durations, 0.5)}</dd>
      </div>
      <div>
        <dt>95 of 100 within</dt>
        <dd>{show(props.durations, 0.95)}</dd>
      </div>
    </dl>
  );
}

function Outcomes(props: { readonly commands: readonly CommandSummaryWire[] }) {
  const counts = new Map<string, number>();
  for (const { outcome } of props.commands) {
    if (outcome !== null) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return <p class="muted">None has ended yet.</p>;
  return (
    <>
      <Shares counts={sorted.map(([outcome, count]) => [outcome, toneOf(outcome), count] as const)} />
      <ul class="outcomes">
        {sorted.map(([outcome, count]) => (
          <li key={outcome}>
            <Badge word={outcome} /> {count}
          </li>
        ))}
      </ul>
    </>
  );
}
