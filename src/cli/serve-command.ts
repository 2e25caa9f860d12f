import type { CliCommand } from "./cli-command.js";

/** A command that starts a process of the service and ends when it does. `start` gets the configuration file, or null. */
export function createServeCommand(deps: {
  readonly name: string;
  readonly summary: string;
  readonly start: (configPath: string | null) => Promise<number>;
}): CliCommand {
  return {
    name: deps.name,
    summary: deps.summary,
    operands: null,
    operandsAfterDashes: false,
    options: {
      config: { value: "FILE", summary: "Configuration file; else BAILIFF_CONFIG, else the defaults." },
    },
    statuses: [],
    run: ({ values, world }) => deps.start(values["config"] ?? world.env["BAILIFF_CONFIG"] ?? null),
  };
}
