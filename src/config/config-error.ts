/** One thing wrong with a configuration: the field as the file spells it, and what it must be. */
export interface ConfigProblem {
  readonly field: string;
  readonly message: string;
}

/** Everything wrong with a configuration at once. The message lists every problem and quotes no value. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly ConfigProblem[];
  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ field, message }) => `  - ${field}: ${message}`);
    super(
      `the configuration has ${problems.length} problem${problems.length === 1 ? "" : "s"}:\n${lines.join("\n")}`,
    );
    this.problems = problems;
  }
}
