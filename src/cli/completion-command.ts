import { type CliCommand, type CliOption, UsageError } from "./cli-command.js";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** Words that stand for a path on this machine. */
const PATH_WORD = /\b(?:FILE|FILES|DIR)\b/;

/** A command as a shell completes it. */
interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly (readonly [string, CliOption])[];
  /** Words that the operand can be; empty where there are none to name. */
  readonly words: readonly string[];
  readonly takesPaths: boolean;
}

function completed({ name, summary, operands, options }: CliCommand): Completed {
  const isChoice = operands !== null && /^[a-z]+(?:\|[a-z]+)+$/.test(operands);
  return {
    name,
    summary,
    options: [...Object.entries(options), ["help", { value: null, summary: "Show how it is called." }]],
    words: isChoice ? operands.split("|") : [],
    takesPaths: operands !== null && PATH_WORD.test(operands),
  };
}

/** The first words, each with the second ones that it has. */
function groupsOf(commands: readonly Completed[]): ReadonlyMap<string, readonly Completed[]> {
  const groups = new Map<string, Completed[]>();
  for (const command of commands) {
    const [first = "", second] = command.name.split(" ");
    groups.set(first, [...(groups.get(first) ?? []), ...(second === undefined ? [] : [command])]);
  }
  return groups;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const optionWords = ({ options }: Completed) => options.map(([name]) => `--${name}`).join(" ");
const valued = ({ options }: Completed, isPath: boolean) =>
  options.flatMap(([name, { value }]) =>
    value !== null && PATH_WORD.test(value) === isPath ? [`--${name}`] : [],
  );
const secondWord = ({ name }: Completed) => name.split(" ")[1] ?? "";

/** The branches that bash and zsh share: what may follow an option, and what a command takes. */
function shellCases(commands: readonly Completed[]): string {
  return commands
    .map((command) => {
      const paths = valued(command, true);
      const values = valued(command, false);
      return [
        `    ${quoted(command.name)})`,
        `      options=${quoted(optionWords(command))} words=${quoted(command.words.join(" "))} paths=${command.takesPaths ? 1 : 0}`,
        `      case "$prev" in`,
        ...(paths.length > 0 ? [`        ${paths.join("|")}) want=path ;;`] : []),
        ...(values.length > 0 ? [`        ${values.join("|")}) want=value ;;`] : []),
        "      esac ;;",
      ].join("\n");
    })
    .join("\n");
}

function secondWordCases(commands: readonly Completed[], indent: string): string {
  return [...groupsOf(commands)]
    .filter(([, seconds]) => seconds.length > 0)
    .map(([first, seconds]) => `${indent}${first}) second=${quoted(seconds.map(secondWord).join(" "))} ;;`)
    .join("\n");
}

function bash(commands: readonly Completed[]): string {
  return `# Completion of bailiff for bash: source <(bailiff completion bash)
_bailiff() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" first="\${COMP_WORDS[1]-}"
  local second='' name options='' words='' paths=0 want='' i
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted([...groupsOf(commands).keys(), "help", "--help", "--version"].join(" "))} -- "$cur"))
    return
  fi
  case "$first" in
${secondWordCases(commands, "    ")}
  esac
  if [ -n "$second" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$second" -- "$cur"))
    return
  fi
  # Behind -- stands another program's argv.
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [ "\${COMP_WORDS[i]}" = -- ]; then
      compopt -o default 2>/dev/null
      return
    fi
  done
  name="$first"
  if [ -n "$second" ]; then name="$first \${COMP_WORDS[2]}"; fi
  case "$name" in
${shellCases(commands)}
  esac
  case "$want" in
    path) compopt -o default 2>/dev/null; return ;;
    value) return ;;
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")); return ;;
  esac
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); return; fi
  if [ "$paths" = 1 ]; then compopt -o default 2>/dev/null; fi
}
complete -F _bailiff bailiff
`;
}

/** In `_describe`, a colon ends the word. */
const described = (word: string, summary: string) => quoted(`${word.replaceAll(":", "\\:")}:${summary}`);

function zsh(commands: readonly Completed[]): string {
  const firsts = [...groupsOf(commands)].map(([first, seconds]) =>
    described(first, seconds.length === 0 ? summaryOf(commands, first) : seconds.map(secondWord).join(", ")),
  );
  const groups = [...groupsOf(commands)].filter(([, seconds]) => seconds.length > 0);
  const secondLists = groups.map(
    ([first, seconds]) =>
      `    ${first}) second=(${seconds.map((each) => described(secondWord(each), each.summary)).join(" ")}) ;;`,
  );
  const cases = commands.map((command) => {
    const paths = valued(command, true);
    const values = valued(command, false);
    return [
      `    ${quoted(command.name)})`,
      `      options=(${command.options.map(([name, { summary }]) => described(`--${name}`, summary)).join(" ")})`,
      `      operands=(${command.words.map(quoted).join(" ")}) paths=${command.takesPaths ? 1 : 0}`,
      `      case "$prev" in`,
      ...(paths.length > 0 ? [`        ${paths.join("|")}) want=path ;;`] : []),
      ...(values.length > 0 ? [`        ${values.join("|")}) want=value ;;`] : []),
      "      esac ;;",
    ].join("\n");
  });
  return `#compdef bailiff
# Completion of bailiff for zsh: source <(bailiff completion zsh), or a file _bailiff in a directory of fpath
_bailiff() {
  local -a first second options operands
  local prev="\${words[CURRENT-1]}" name paths=0 want=''
  if (( CURRENT == 2 )); then
    first=(${firsts.join(" ")})
    _describe command first
    return
  fi
  case "\${words[2]}" in
${secondLists.join("\n")}
  esac
  if (( \${#second} && CURRENT == 3 )); then
    _describe command second
    return
  fi
  # Behind -- stands another program's argv.
  if (( \${words[(I)--]} && \${words[(I)--]} < CURRENT )); then
    _files
    return
  fi
  name="\${words[2]}"
  if (( \${#second} )); then name="\${words[2]} \${words[3]}"; fi
  case "$name" in
${cases.join("\n")}
  esac
  case "$want" in
    path) _files; return ;;
    value) return ;;
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe option options
    return
  fi
  if (( \${#operands} )); then compadd -a operands; return; fi
  if [[ "$paths" == 1 ]]; then _files; fi
}
if [[ "\${funcstack[1]-}" == _bailiff ]]; then _bailiff "$@"; else compdef _bailiff bailiff; fi
`;
}

function summaryOf(commands: readonly Completed[], name: string): string {
  return commands.find((command) => command.name === name)?.summary ?? "";
}

/** In fish's single quotes a backslash escapes itself and the quote. */
const fishQuoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function fish(commands: readonly Completed[]): string {
  const lines = [
    "# Completion of bailiff for fish: bailiff completion fish | source",
    "function __bailiff_is",
    "    set -l words (commandline -opc)[2..]",
    "    contains -- -- $words; and return 1",
    '    test (count $words) -ge (count $argv); and test "$words[1..(count $argv)]" = "$argv"',
    "end",
    "function __bailiff_at",
    "    test (math (count (commandline -opc)) - 1) -eq $argv[1]; or return 1",
    "    test (count $argv) -eq 1; or __bailiff_is $argv[2..]",
    "end",
    "complete -c bailiff -f",
  ];
  for (const [first, seconds] of groupsOf(commands)) {
    const summary = seconds.length === 0 ? summaryOf(commands, first) : seconds.map(secondWord).join(", ");
    lines.push(`complete -c bailiff -n '__bailiff_at 0' -a ${first} -d ${fishQuoted(summary)}`);
    for (const each of seconds) {
      lines.push(
        `complete -c bailiff -n '__bailiff_at 1 ${first}' -a ${secondWord(each)} -d ${fishQuoted(each.summary)}`,
      );
    }
  }
  for (const command of commands) {
    const condition = `-n '__bailiff_is ${command.name}'`;
    for (const [name, { value, summary }] of command.options) {
      const argument = value === null ? "" : PATH_WORD.test(value) ? " -r -F" : " -x";
      lines.push(`complete -c bailiff ${condition} -l ${name}${argument} -d ${fishQuoted(summary)}`);
    }
    if (command.words.length > 0)
      lines.push(`complete -c bailiff ${condition} -a ${fishQuoted(command.words.join(" "))}`);
    if (command.takesPaths) lines.push(`complete -c bailiff ${condition} -F`);
  }
  return `${lines.join("\n")}\n`;
}

const WRITERS: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = { bash, zsh, fish };

/** `bailiff completion bash|zsh|fish`: prints the completion of all commands, made from what they say of themselves. */
export function createCompletionCommand(commands: () => readonly CliCommand[]): CliCommand {
  return {
    name: "completion",
    summary: "Print the completion of these commands for a shell.",
    operands: SHELLS.join("|"),
    operandsAfterDashes: false,
    options: {},
    statuses: [],
    async run({ operands, world }) {
      const shell = SHELLS.find((known) => known === operands[0]);
      if (shell === undefined || operands.length > 1)
        throw new UsageError(`takes one of ${SHELLS.join(", ")}`);
      world.stdout.write(WRITERS[shell](commands().map(completed)));
      return 0;
    },
  };
}
