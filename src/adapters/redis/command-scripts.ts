import type { CommandPlaces } from "./command-places.js";
import type { CommandPlace, Keys } from "./keys.js";
import { closedMember } from "./retention.js";
import type { RunScript, ScriptName } from "./scripts.js";

/** Runs the scripts on commands, each with the keys and arguments that all of them share. */
export interface CommandScripts {
  run(
    name: ScriptName,
    place: CommandPlace,
    args: readonly string[],
    moreKeys?: readonly string[],
  ): Promise<unknown>;
  /** Runs a script on an existing command; `missing` where there is none. */
  runOn(name: ScriptName, commandId: string, args: readonly string[], missing: unknown): Promise<unknown>;
  /** Spares `runOn` the look-up of a command whose record was read. */
  placed(place: CommandPlace): void;
  /** Moves a pool's fair queue back once a priority, as it would be without its upper bound, has grown far. */
  rebaseFrom(pool: string, unboundedPriority: number): Promise<void>;
}

/** From this priority on a pool's fair queue is moved back; far below the highest that the queue can hold. */
const REBASE_FROM_PRIORITY = 1_000_000;

/** Builds the one place where the shared keys and arguments are put together. */
export function createCommandScripts(deps: {
  readonly keys: Keys;
  readonly runScript: RunScript;
  readonly places: CommandPlaces;
  readonly resultTtlMs: number;
}): CommandScripts {
  const { keys } = deps;
  const run: CommandScripts["run"] = (name, place, args, moreKeys = []) =>
    deps.runScript(
      name,
      [...keys.shared(place), ...moreKeys, keys.evidenceOutbox],
      [
        keys.changedChannel,
        keys.cancelChannel,
        place.commandId,
        closedMember(place),
        String(deps.resultTtlMs),
        ...args,
      ],
    );
  return {
    run,
    placed: deps.places.remember,
    async runOn(name, commandId, args, missing) {
      const place = await deps.places.find(commandId);
      return place === null ? missing : run(name, place, args);
    },
    async rebaseFrom(pool, unboundedPriority) {
      if (unboundedPriority < REBASE_FROM_PRIORITY) return;
      await deps.runScript("rebase-priorities", [keys.poolFair(pool), keys.prioritized(pool)], []);
    },
  };
}
