import type { CommandResult } from "../../domain/command.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandStore } from "../../ports/command-store.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";

/** Writes the end under the fence. True when it stands; false when another verdict already does. */
export type PersistEnd = (commandId: string, fence: string, result: CommandResult) => Promise<boolean>;

/**
 * Keeps trying while the store is away: a known end must not become `lost` because Redis restarted.
 * Gives up after `patienceMs`; by then the reconciler's verdict is the truth.
 */
export function createPersistEnd(deps: {
  readonly commands: CommandStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly patienceMs: number;
  readonly pause: (ms: number) => Promise<void>;
}): PersistEnd {
  return async (commandId, fence, result) => {
    const untilMs = deps.clock.nowMs() + deps.patienceMs;
    let pauseMs = 50;
    for (;;) {
      try {
        const kept = await deps.commands.finish(commandId, fence, result, deps.clock.nowMs());
        if (!kept) deps.metrics.count("bailiff_fenced_off_total");
        return kept;
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || deps.clock.nowMs() + pauseMs > untilMs) {
          deps.metrics.count("bailiff_results_unwritten_total");
          deps.log.error({ command_id: commandId, err: error }, "the end of a command could not be written");
          return false;
        }
        deps.log.warn(
          { command_id: commandId, pause_ms: pauseMs },
          "the store is away; the end is kept and written again",
        );
        await deps.pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, 2_000);
      }
    }
  };
}
