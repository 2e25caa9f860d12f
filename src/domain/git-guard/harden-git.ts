import { WORKSPACE_ROOT } from "../containment/judge-token.js";

/** One configuration key and its value. */
export type ConfigOverride = readonly [key: string, value: string];

/** What is dispatched in place of one of the six vectors. */
export interface HardenedGit {
  readonly argv: readonly string[];
  /** To be added to the command's environment; wins over anything of the same name. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Settings that stop a repository from naming a program, a server or a place of its own. Command scope: they beat every file. */
const OVERRIDES: readonly ConfigOverride[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["core.editor", "false"],
  ["core.askPass", "false"],
  ["core.sshCommand", "false"],
  ["core.gitProxy", ""],
  ["core.alternateRefsCommand", "false"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.untrackedCache", "false"],
  ["core.useBuiltinFSMonitor", "false"],
  ["credential.helper", ""],
  ["credential.interactive", "false"],
  ["gpg.program", "false"],
  ["diff.external", ""],
  ["diff.orderFile", "/dev/null"],
  ["diff.submodule", "short"],
  ["diff.ignoreSubmodules", "dirty"],
  ["status.submoduleSummary", "false"],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["protocol.allow", "never"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["color.ui", "false"],
  ["color.branch", "false"],
  ["color.diff", "false"],
  ["color.status", "false"],
  ["column.ui", "never"],
  ["core.quotePath", "true"],
];

/** Options each subcommand gets on top; they beat attributes, which configuration can't switch off. */
const SUBCOMMAND_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  diff: ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"],
  status: ["--ignore-submodules=dirty"],
};

/**
 * The hardened form of one of the six vectors. `repositoryOverrides` are those that `repositoryVerdict` found to be needed;
 * `workspaceRoot` is where the process sees the workspace.
 */
export function hardenGit(
  argv: readonly string[],
  repositoryOverrides: readonly ConfigOverride[] = [],
  workspaceRoot: string = WORKSPACE_ROOT,
): HardenedGit {
  const [, subcommand = "", ...rest] = argv;
  const gitDirectory = `${workspaceRoot}/.git`;
  const overrides = [...OVERRIDES, ["safe.directory", workspaceRoot] as const, ...repositoryOverrides];
  const environment: Record<string, string> = {
    // Named outright, so that neither discovery, `core.worktree` nor a `commondir` file decides where Git works.
    GIT_DIR: gitDirectory,
    GIT_COMMON_DIR: gitDirectory,
    GIT_WORK_TREE: workspaceRoot,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_PROTOCOL_FROM_USER: "0",
    GIT_PAGER: "cat",
    GIT_EDITOR: "false",
    GIT_ASKPASS: "false",
    GIT_SSH_COMMAND: "false",
    GIT_CONFIG_COUNT: String(overrides.length),
  };
  for (const [index, [key, value]] of overrides.entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = key;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return {
    argv: [
      "git",
      "--no-pager",
      "--no-optional-locks",
      "--no-replace-objects",
      subcommand,
      ...(SUBCOMMAND_OPTIONS[subcommand] ?? []),
      ...rest,
    ],
    environment,
  };
}
