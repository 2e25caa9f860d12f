import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import type { HandEngine } from "./hand-engine.js";

/** What the figures of a run depend on. */
export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryMib: number;
  readonly kernel: string;
  readonly distribution: string;
  readonly engine: string;
  readonly engineApi: string;
  readonly node: string;
  /** One, five and fifteen minutes, when the run began: above the cores, the figures are of a busy machine. */
  readonly loadAverage: readonly number[];
}

/** Describes the machine this runs on. */
export async function describeMachine(engine: HandEngine): Promise<Machine> {
  const version = await engine.version();
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    memoryMib: Math.round(totalmem() / (1 << 20)),
    kernel: release(),
    distribution: distribution(),
    engine: version.Version,
    engineApi: version.ApiVersion,
    node: process.version,
    loadAverage: loadavg().map((load) => Math.round(load * 100) / 100),
  };
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "unknown";
  } catch {
    return "unknown";
  }
}
