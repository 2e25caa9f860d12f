import { startWorker } from "../src/main/worker.js";
import type { CommandStore } from "../src/ports/command-store.js";
import type { ContainerRuntime } from "../src/ports/container-runtime.js";
import type { Benchmark } from "./measure/benchmark.js";
import { createControlPlane, openSubmitter } from "./measure/control-plane.js";
import { createRows } from "./measure/row.js";
import { keepGoing, timed } from "./measure/sampling.js";
import { createSimulatedRuntime } from "./measure/simulated-runtime.js";

const CONTAINER_MS = 20;
const CONCURRENCY = 4;
const FIRST_COMMANDS = 30;
const WAIT_MS = 60_000;

/** How far one tenant's long queue puts off another's first command. */
export const fairness: Benchmark = {
  name: "fairness",
  title: `one tenant's long queue, other tenants' first commands; containers simulated at ${CONTAINER_MS} ms, ${CONCURRENCY} at once`,
  async run(context) {
    const queued = context.size === "quick" ? 1_000 : 10_000;
    const { foundation } = await createControlPlane(context, { worker: { concurrency: CONCURRENCY } });
    /** Whose commands were claimed, in order. */
    const claimed: string[] = [];
    const noteClaims = (commands: CommandStore): CommandStore => ({
      ...commands,
      async claim(claim) {
        const answer = await commands.claim(claim);
        if (answer.kind === "claimed") claimed.push(answer.record.tenant);
        return answer;
      },
    });
    const work = () =>
      startWorker(foundation, {
        runtime: (real: ContainerRuntime) => ({ ...createSimulatedRuntime(CONTAINER_MS), close: real.close }),
        commands: noteClaims,
      });
    let people = 0;
    const firstCommand = async () => {
      people += 1;
      const submitter = await openSubmitter(foundation, `quiet-${people}`);
      const before = claimed.length;
      const elapsedMs = await timed(() => submitter.submit(WAIT_MS));
      const ahead = claimed.slice(before).indexOf(`quiet-${people}`);
      if (ahead < 0) throw new Error("a first command did not end in time");
      return { elapsedMs, ahead };
    };

    context.say("first commands on an idle worker");
    const idleWorker = await work();
    const idle: number[] = [];
    for (let i = 0; i < FIRST_COMMANDS; i += 1) idle.push((await firstCommand()).elapsedMs);
    await idleWorker.stop("the next part begins");

    context.say(`queueing ${queued} commands of one tenant`);
    const flood = await openSubmitter(foundation, "flood");
    await keepGoing({ concurrency: 32, forMs: 120_000, atMost: queued }, () => flood.submit(0));
    claimed.length = 0;
    const busyWorker = await work();
    context.defer(() => busyWorker.stop("the benchmark is over"));
    const busy = [];
    for (let i = 0; i < FIRST_COMMANDS; i += 1) busy.push(await firstCommand());
    const left = queued - claimed.filter((tenant) => tenant === "flood").length;

    const rows = createRows("fairness");
    const idleLabel = "a tenant's first command, idle worker";
    rows.samples(idleLabel, "ms", idle);
    rows.samples(
      `the same behind ${queued.toLocaleString("en-US")} queued of another tenant`,
      "ms",
      busy.map(({ elapsedMs }) => elapsedMs),
      idleLabel,
    );
    const aheadRow = rows.samples(
      "  of the other tenant's, dispatched before it",
      "commands",
      busy.map(({ ahead }) => ahead),
    );
    rows.samples(
      "  in rounds of the worker's slots",
      "rounds",
      busy.map(({ ahead }) => ahead / CONCURRENCY),
    );
    return {
      rows: rows.rows,
      goals: [
        {
          text: `a first command waits for about one round of the worker's slots, not for the queue (here p99 ${aheadRow.p99} commands of ${queued})`,
          met: aheadRow.p99 <= 2 * CONCURRENCY,
        },
      ],
      notes: [`fairness: ${left} of the long queue were still queued when the last first command had ended.`],
    };
  },
};
