import type { CommandResult } from "../../domain/command.js";
import { lost } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
import type { Clock } from "../../ports/clock.js";
import type { CommandStore } from "../../ports/command-store.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type { Log, Metrics } from "../../ports/telemetry.js";

/** What a worker has to tell the store about a command it holds, however long that takes. */
export interface HeldCommands {
  /** Writes the end under the fence. True when it stands; false when another verdict already does. */
  persistEnd(commandId: string, fence: string, result: CommandResult): Promise<boolean>;
  /** Gives a claim back that may or may not have gone through: its argv was not sent. */
  voidFence(commandId: string, fence: string): Promise<void>;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** A write that fails this often for another reason than the store's absence is not going to succeed. */
const MAX_REFUSALS = 3;

/**
 * Keeps trying while the store is away: a known end must not become `lost` because Redis restarted, and a command that
 * a live worker holds has nobody else to end it. Only `givesUp` ends it, when the process itself goes: then the
 * reconciler's verdict is the truth.
 */
export function createHeldCommands(deps: {
  readonly commands: CommandStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly pause: (ms: number) => Promise<void>;
  readonly givesUp: () => boolean;
}): HeldCommands {
  const untilAnswered = async <T>(
    commandId: string,
    work: (refusals: number) => Promise<T>,
  ): Promise<T | null> => {
    let refusals = 0;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await work(refusals);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) refusals += 1;
        if (deps.givesUp()) {
          deps.metrics.count("bailiff_results_unwritten_total");
          deps.log.error(
            { command_id: commandId, err: error },
            "the process ends before the store could be told",
          );
          return null;
        }
        deps.log.warn(
          { command_id: commandId, pause_ms: pauseMs, err: error },
          "the store was not told; again soon",
        );
        await deps.pause(pauseMs);
      }
    }
  };

  return {
    async persistEnd(commandId, fence, result) {
      const kept = await untilAnswered(commandId, (refusals) =>
        deps.commands.finish(
          commandId,
          fence,
          refusals < MAX_REFUSALS ? result : unstartedResult(lost("the result could not be recorded")),
          deps.clock.nowMs(),
        ),
      );
      if (kept === false) deps.metrics.count("bailiff_fenced_off_total");
      return kept === true;
    },
    async voidFence(commandId, fence) {
      await untilAnswered(commandId, () => deps.commands.giveBack(commandId, fence));
    },
  };
}
