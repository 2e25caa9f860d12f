/** One option of a command. */
export interface CliOption {
  /** Name of its value in the help; null for a switch. */
  readonly value: string | null;
  readonly summary: string;
}

/** Where a command writes; `isTerminal` says that a person reads it. */
export interface CliStream {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** What a command sees of the world around it. */
export interface CliWorld {
  readonly stdout: CliStream;
  readonly stderr: CliStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls back at each Ctrl-C instead of ending the process; the answer stops that. */
  onInterrupt(callback: () => void): () => void;
}

/** A call of a command after parsing. */
export interface CliCall {
  /** Options with a value, by name; absent where not given. */
  readonly values: Readonly<Record<string, string>>;
  /** Switches that were given. */
  readonly switches: ReadonlySet<string>;
  readonly operands: readonly string[];
  readonly world: CliWorld;
}

/** One command of `bailiff`. The name may have two words. */
export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  /** How the operands are written in the usage line; null where there are none. */
  readonly operands: string | null;
  /** True where operands come only after `--`, because they may look like options. */
  readonly operandsAfterDashes: boolean;
  readonly options: Readonly<Record<string, CliOption>>;
  /** Exit statuses that mean something, for the help. */
  readonly statuses: readonly (readonly [number | string, string])[];
  /** Resolves with the exit status. Throws UsageError for a call that makes no sense. */
  run(call: CliCall): Promise<number>;
}

/** The command was called wrongly; exit status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Exit status of a wrong call. */
export const USAGE_STATUS = 2;
