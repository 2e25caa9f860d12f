import {
  type FleetPlan,
  fleetNeeds,
  SAFE_LOAD,
  type ScalingInputs,
} from "../../bench/measure/scaling-model.js";

const HUNDRED_THOUSAND: FleetPlan = {
  workers: 1_000,
  slotsPerWorker: 16,
  sessions: 100_000,
  secondsBetweenCommands: 60,
  commandSeconds: 5,
  resultHours: 24,
};
/** The plans that the page carries the inputs to. */
const PLANS: readonly FleetPlan[] = [
  { ...HUNDRED_THOUSAND, workers: 10, sessions: 1_000 },
  { ...HUNDRED_THOUSAND, workers: 100, sessions: 10_000 },
  HUNDRED_THOUSAND,
  { ...HUNDRED_THOUSAND, resultHours: 1 },
];

const whole = (value: number) => Math.round(value).toLocaleString("en-US");
const figure = (value: number) => (value >= 100 ? whole(value) : String(Number(value.toPrecision(3))));

function inputsTable(inputs: ScalingInputs): string {
  const first = inputs.ratePerSecond[0]?.rate ?? Number.NaN;
  const rows: readonly (readonly [string, number, string])[] = [
    ["requests to Redis per command", inputs.requestsPerCommand, ""],
    ["calls inside its scripts per command", inputs.scriptCallsPerCommand, ""],
    ["Redis's processor time per command", inputs.redisCpuMsPerCommand, "ms"],
    ["to Redis per command", inputs.redisInBytesPerCommand, "bytes"],
    ["from Redis per command", inputs.redisOutBytesPerCommand, "bytes"],
    ["memory per queued command", inputs.memoryBytesPerQueued, "bytes"],
    ["memory per finished command, its evidence included", inputs.memoryBytesPerFinished, "bytes"],
    ["memory per session", inputs.memoryBytesPerSession, "bytes"],
    ["connections per worker process of one pool", inputs.connectionsPerWorker, ""],
    ["operations of an idle worker per second", inputs.operationsPerIdleWorkerSecond, ""],
    ["Redis's processor time per idle worker and second", inputs.redisCpuMsPerIdleWorkerSecond, "ms"],
  ];
  return [
    `Measured on ${inputs.measuredOn}.`,
    "",
    "| workers | commands per second | against one |",
    "| --- | --- | --- |",
    ...inputs.ratePerSecond.map(
      ({ workers, rate }) => `| ${workers} | ${figure(rate)} | ${figure(rate / first)} |`,
    ),
    "",
    "| input | value |",
    "| --- | --- |",
    ...rows.map(([name, value, unit]) => `| ${name} | ${`${figure(value)} ${unit}`.trim()} |`),
  ].join("\n");
}

function modelTable(inputs: ScalingInputs): string {
  const all = PLANS.map((plan) => ({ plan, needs: fleetNeeds(inputs, plan) }));
  const row = (name: string, of: (each: (typeof all)[number]) => string) =>
    `| ${[name, ...all.map(of)].join(" | ")} |`;
  return [
    row("workers, slots each", ({ plan }) => `${whole(plan.workers)} × ${plan.slotsPerWorker}`),
    `| --- |${" --- |".repeat(all.length)}`,
    row("sessions", ({ plan }) => whole(plan.sessions)),
    row("one command per session every", ({ plan }) => `${plan.secondsBetweenCommands} s`),
    row("a command takes", ({ plan }) => `${plan.commandSeconds} s`),
    row("results kept", ({ plan }) => `${plan.resultHours} h`),
    row("commands per second", ({ needs }) => figure(needs.commandsPerSecond)),
    row("slots busy", ({ needs }) => `${whole(needs.slotsBusy)} of ${whole(needs.slots)}`),
    row("requests to Redis per second", ({ needs }) => whole(needs.requestsPerSecond)),
    row("cores of Redis", ({ needs }) => figure(needs.redisCores)),
    row("to Redis, MiB per second", ({ needs }) => figure(needs.inMibPerSecond)),
    row("from Redis, MiB per second", ({ needs }) => figure(needs.outMibPerSecond)),
    row("connections", ({ needs }) => whole(needs.connections)),
    row("memory, GiB", ({ needs }) => figure(needs.memoryGib)),
    row(`deployments, with a core ${SAFE_LOAD * 100} % busy`, ({ needs }) => String(needs.deployments)),
    row("  memory of each, GiB", ({ needs }) => figure(needs.memoryGib / needs.deployments)),
  ].join("\n");
}

/** The page with its figures written anew, each table between two comments that name it. */
export function scalingPage(written: string, inputs: ScalingInputs): string {
  const parts: Readonly<Record<string, string>> = {
    inputs: inputsTable(inputs),
    model: modelTable(inputs),
  };
  return Object.entries(parts).reduce((page, [name, text]) => {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
    const [from, to] = [page.indexOf(begin), page.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`docs/scaling.md has no part '${name}'`);
    return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
  }, written);
}
