import type { CommandWire } from "../contract/commands.js";
import { NoAnswer } from "./errors.js";

type ResultMember =
  | "state"
  | "outcome"
  | "effect"
  | "returncode"
  | "signal"
  | "start_failure"
  | "stdout"
  | "stderr"
  | "partial_output";

/** What every command has, however it stands. */
type CommandFacts = Omit<CommandWire, ResultMember>;

/** It has not ended. */
export interface PendingCommand extends CommandFacts {
  readonly state: "awaiting_approval" | "queued" | "dispatched";
  readonly effect: null;
  readonly outcome: null;
}

/** It never started: nothing happened in the outside world. */
export interface NotStartedCommand extends CommandFacts {
  readonly state: "finished";
  readonly effect: "none";
  readonly outcome: "denied" | "approval_denied" | "approval_expired" | "cancelled" | "start_failed";
  readonly start_failure: CommandWire["start_failure"];
}

/** The process ended by itself, and all of its result is here. A nonzero returncode is its answer, not an error of the call. */
export interface CompletedCommand extends CommandFacts {
  readonly state: "finished";
  readonly effect: "completed";
  readonly outcome: "completed";
  readonly returncode: number;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** It was dispatched and killed, or lost: any part of what it does may have happened. */
export interface KilledCommand extends CommandFacts {
  readonly state: "finished";
  readonly effect: "unknown";
  readonly outcome: "timed_out" | "output_limit_exceeded" | "out_of_memory" | "cancelled" | "lost";
  /** Evidence, not a result. */
  readonly partial_output: CommandWire["partial_output"];
}

/** The process ended by itself, but its text was too large to keep: what it said is not known. */
export interface OmittedCommand extends CommandFacts {
  readonly state: "finished";
  readonly effect: "unknown";
  readonly outcome: "completed";
  /** Under a name of its own, so that nobody takes it for a whole result. */
  readonly kept: { readonly returncode: number; readonly signal: string | null };
}

/** What happened is not known: look at the workspace before anything is done again. */
export type UnknownCommand = KilledCommand | OmittedCommand;
/** A command that has ended, told apart by `effect`. Only `completed` has `returncode`, `stdout` and `stderr`. */
export type FinishedCommand = NotStartedCommand | CompletedCommand | UnknownCommand;
/** A command as it stands; `effect` is null until it has ended. */
export type Command = PendingCommand | FinishedCommand;

/** One way for each effect: to leave out `unknown` does not compile. */
export interface EffectHandlers<C, N, U> {
  readonly completed: (command: CompletedCommand) => C;
  readonly none: (command: NotStartedCommand) => N;
  readonly unknown: (command: UnknownCommand) => U;
}

/** Goes the way of the command's effect. */
export function byEffect<C, N, U>(command: FinishedCommand, handlers: EffectHandlers<C, N, U>): C | N | U {
  switch (command.effect) {
    case "completed":
      return handlers.completed(command);
    case "none":
      return handlers.none(command);
    case "unknown":
      return handlers.unknown(command);
  }
}

/** Whether it has ended. */
export function isFinished(command: Command): command is FinishedCommand {
  return command.state === "finished";
}

const PENDING = new Set<unknown>(["awaiting_approval", "queued", "dispatched"]);
const NOT_STARTED = new Set<unknown>([
  "denied",
  "approval_denied",
  "approval_expired",
  "cancelled",
  "start_failed",
]);
const KILLED = new Set<unknown>(["timed_out", "output_limit_exceeded", "out_of_memory", "cancelled", "lost"]);

/** Takes an answer for a command. Throws NoAnswer for one that is none: an effect is never guessed. */
export function commandOf(answer: unknown): Command {
  const wire = (typeof answer === "object" && answer !== null ? answer : {}) as CommandWire;
  if (typeof wire.command_id === "string") {
    if (PENDING.has(wire.state)) return { ...wire, outcome: null, effect: null } as PendingCommand;
    if (wire.state === "finished") {
      const { outcome, effect, returncode, signal, stdout, stderr, ...others } = wire;
      const ended = { ...others, outcome, effect };
      if (effect === "none" && NOT_STARTED.has(outcome)) return ended as NotStartedCommand;
      if (effect === "unknown" && KILLED.has(outcome)) return ended as KilledCommand;
      if (effect === "unknown" && outcome === "completed" && typeof returncode === "number")
        return { ...ended, kept: { returncode, signal } } as OmittedCommand;
      const isWhole =
        typeof returncode === "number" && typeof stdout === "string" && typeof stderr === "string";
      if (effect === "completed" && outcome === "completed" && isWhole) return wire as CompletedCommand;
    }
  }
  throw new NoAnswer("unexpected", "the service answered with something else than a command it knows");
}
