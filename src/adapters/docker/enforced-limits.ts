import type { ContainerLimits } from "../../domain/limits.js";
import { RuntimeFault, type RuntimeProfile } from "../../ports/container-runtime.js";
import type { EngineClient, KernelBounds } from "./engine-client.js";

/**
 * Which limits are not enforced, as words; empty when all are. CPU time is not in what the engine says of a running
 * container: it is taken as enforced with the others, for it is a setting of the same cgroup. Pure.
 */
export function unenforcedLimits(bounds: KernelBounds, asked: ContainerLimits): readonly string[] {
  const exceeds = (bound: number | null, limit: number) => bound === null || bound > limit;
  const unenforced: string[] = [];
  if (exceeds(bounds.memoryBytes, asked.memoryBytes)) unenforced.push("memory");
  if (exceeds(bounds.pids, asked.pids)) unenforced.push("processes");
  return unenforced.length === 0 ? [] : [...unenforced, "CPU time"];
}

/**
 * Knows of each OCI runtime whether it brings a container's limits to the kernel. An engine hands limits to the runtime and
 * believes it; one that makes no cgroup leaves them all behind without a word.
 */
export interface EnforcedLimits {
  /**
   * Looks at a running container of a runtime that was not looked at before.
   * @throws RuntimeFault `refused` where a limit is not enforced and the profile does not accept that.
   */
  check(containerId: string, profile: RuntimeProfile): Promise<void>;
  /** Of a runtime that was looked at: the limits that it does not enforce. */
  missing(ociRuntime: string | null): readonly string[];
}

/** Builds it without any knowledge. What a runtime does is asked once: its arguments are the engine's configuration. */
export function createEnforcedLimits(engine: Pick<EngineClient, "bounds">): EnforcedLimits {
  const known = new Map<string | null, readonly string[]>();
  return {
    async check(containerId, profile) {
      let missing = known.get(profile.ociRuntime);
      if (missing === undefined) {
        missing = unenforcedLimits(await engine.bounds(containerId), profile.limits);
        known.set(profile.ociRuntime, missing);
      }
      if (missing.length > 0 && profile.acceptsUnenforcedLimits !== true) {
        throw new RuntimeFault("refused", "stats", "stats: the OCI runtime does not enforce the limits");
      }
    },
    missing: (ociRuntime) => known.get(ociRuntime) ?? [],
  };
}
