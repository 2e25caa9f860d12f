/** What the model of a large fleet is computed from, each measured by `npm run bench -- --only scaling`. */
export interface ScalingInputs {
  readonly measuredOn: string;
  /** Requests of clients to Redis for one command, from its decision to the waiting caller's answer. */
  readonly requestsPerCommand: number;
  /** Calls inside scripts for the same. */
  readonly scriptCallsPerCommand: number;
  readonly redisCpuMsPerCommand: number;
  readonly redisInBytesPerCommand: number;
  readonly redisOutBytesPerCommand: number;
  readonly memoryBytesPerQueued: number;
  readonly memoryBytesPerFinished: number;
  readonly memoryBytesPerSession: number;
  readonly connectionsPerWorker: number;
  readonly operationsPerIdleWorkerSecond: number;
  readonly redisCpuMsPerIdleWorkerSecond: number;
  /** Of 1, 2 and 4 worker processes, as commands per second. */
  readonly ratePerSecond: readonly { readonly workers: number; readonly rate: number }[];
}

/** A fleet to be carried by one deployment. */
export interface FleetPlan {
  readonly workers: number;
  readonly slotsPerWorker: number;
  readonly sessions: number;
  /** How often an agent asks for a command. */
  readonly secondsBetweenCommands: number;
  readonly commandSeconds: number;
  /** How long a result is kept. */
  readonly resultHours: number;
}

/** What a plan asks of Redis. */
export interface FleetNeeds {
  readonly commandsPerSecond: number;
  readonly slotsBusy: number;
  readonly slots: number;
  readonly requestsPerSecond: number;
  /** Of one core; above 1 one deployment's Redis can't do it. */
  readonly redisCores: number;
  readonly inMibPerSecond: number;
  readonly outMibPerSecond: number;
  readonly connections: number;
  readonly memoryGib: number;
  /** So many deployments, each on a Redis of its own, with its core at most `SAFE_LOAD` busy. */
  readonly deployments: number;
}

/** Above it waiting grows faster than work. */
export const SAFE_LOAD = 0.6;
/** Connections of one API process, and how many API processes are counted with. */
const API_CONNECTIONS = 2;
const API_PROCESSES = 20;

/** Carries the measured inputs to a plan, by multiplication alone. */
export function fleetNeeds(inputs: ScalingInputs, plan: FleetPlan): FleetNeeds {
  const commandsPerSecond = plan.sessions / plan.secondsBetweenCommands;
  const redisCores =
    (commandsPerSecond * inputs.redisCpuMsPerCommand + plan.workers * inputs.redisCpuMsPerIdleWorkerSecond) /
    1_000;
  const kept = commandsPerSecond * plan.resultHours * 3_600;
  return {
    commandsPerSecond,
    slotsBusy: commandsPerSecond * plan.commandSeconds,
    slots: plan.workers * plan.slotsPerWorker,
    requestsPerSecond: commandsPerSecond * inputs.requestsPerCommand,
    redisCores,
    inMibPerSecond: (commandsPerSecond * inputs.redisInBytesPerCommand) / 2 ** 20,
    outMibPerSecond: (commandsPerSecond * inputs.redisOutBytesPerCommand) / 2 ** 20,
    connections: plan.workers * inputs.connectionsPerWorker + API_PROCESSES * API_CONNECTIONS,
    memoryGib:
      (kept * inputs.memoryBytesPerFinished + plan.sessions * inputs.memoryBytesPerSession) / 2 ** 30,
    deployments: Math.max(1, Math.ceil(redisCores / SAFE_LOAD)),
  };
}
