import type { CommandResult } from "../../domain/command.js";
import { lost } from "../../domain/outcome.js";
import { unstartedResult } from "../../domain/result.js";
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
        deps.metrics.count("bailiff_store_retries_total");
        deps.log.warn(
          { command_id: commandId, pause_ms: pauseMs, err: error },
          "the store was not told; again soon",
        );
        await deps.pause(pauseMs);
      }
    }
  };

  /** A verdict that was already there is as it should be; a record that is gone is the store's loss, and never silent. */
  const explainRefusal = async (commandId: string): Promise<void> => {
    const record = await deps.commands.get(commandId).catch(() => undefined);
    if (record !== null) {
      deps.metrics.count("bailiff_fenced_off_total");
      return;
    }
    deps.metrics.count("bailiff_records_vanished_total");
    deps.log.error({ command_id: commandId }, "the store has forgotten a command that was running");
  };

  return {
    async persistEnd(commandId, fence, result) {
      const kept = await untilAnswered(commandId, (refusals) =>
        deps.commands.finish(
          commandId,
          fence,
          refusals < MAX_REFUSALS ? result : unstartedResult(lost("the result could not be recorded")),
        ),
      );
      if (kept === false) await explainRefusal(commandId);
      return kept === true;
    },
    async voidFence(commandId, fence) {
      await untilAnswered(commandId, () => deps.commands.giveBack(commandId, fence));
    },
  };
}
