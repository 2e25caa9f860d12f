import { readFileSync } from "node:fs";

const MIB = 1 << 20;

/** Resident memory of a process in MiB, as the kernel counts it. */
export function residentMib(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  if (found === null) throw new Error(`/proc/${pid}/status has no VmRSS`);
  return (Number(found[1]) * 1024) / MIB;
}

/** Samples a process's resident memory until `stop`, which answers every sample. */
export function watchMemory(pid: number, everyMs = 20): { stop(): readonly number[] } {
  const samples = [residentMib(pid)];
  const timer = setInterval(() => samples.push(residentMib(pid)), everyMs);
  return {
    stop() {
      clearInterval(timer);
      return samples;
    },
  };
}
