import type { Command, SyntaxNode, Word, WordPart } from "unbash";
import { forEachChild, parse } from "unbash";

/** One simple command found in shell text. */
export interface ShellCommand {
  readonly argv: readonly string[];
  /** True when a shell would compute the command's name (expansion, glob) instead of taking it as written. */
  readonly computedName: boolean;
  /** Indices of tokens a shell would change before the program sees them. */
  readonly computedTokens: readonly number[];
  /** Files the command's redirections name. */
  readonly redirects: readonly string[];
  /** Here-document or here-string given to the command, as written. */
  readonly stdinText?: string;
}

/** What shell text would start, as far as it can be read. */
export interface ShellText {
  readonly commands: readonly ShellCommand[];
  /** False when the parser found a fault: the commands are then what it could recover. */
  readonly understood: boolean;
}

/** Reads shell text as Bash without executing anything. Never throws. */
export function readShellText(text: string): ShellText {
  const commands: ShellCommand[] = [];
  let understood = true;
  const visit = (node: SyntaxNode): void => {
    if ("errors" in node && Array.isArray(node.errors) && node.errors.length > 0) understood = false;
    if (node.type === "Command") {
      const command = readCommand(node);
      if (command !== undefined) commands.push(command);
    }
    forEachChild(node, visit);
  };
  try {
    visit(parse(text));
  } catch {
    understood = false;
  }
  return { commands, understood };
}

function readCommand(node: Command): ShellCommand | undefined {
  const redirects: string[] = [];
  let stdinText: string | undefined;
  for (const redirect of node.redirects) {
    if (redirect.type === "HereDoc") stdinText = redirect.body.text;
    else if (redirect.type === "HereString") stdinText = redirect.target?.value ?? "";
    else if (redirect.target !== undefined && !/^(?:[0-9]+-?|-)$/.test(redirect.target.value)) {
      redirects.push(redirect.target.value);
    }
  }
  if (node.name === undefined) {
    if (redirects.length === 0) return undefined;
    return { argv: [":"], computedName: false, computedTokens: [], redirects };
  }
  const argv = [node.name.value];
  const computedTokens = isComputed(node.name) ? [0] : [];
  for (const argument of node.args) {
    const word = argument.type === "Word";
    if (!word || isComputed(argument)) computedTokens.push(argv.length);
    argv.push(word ? argument.value : argument.text);
  }
  return {
    argv,
    computedName: computedTokens[0] === 0 || node.name.value === "",
    computedTokens,
    redirects,
    ...(stdinText === undefined ? {} : { stdinText }),
  };
}

function isComputed(word: Word): boolean {
  if (word.value.startsWith("~") && word.text.startsWith("~")) return true;
  return (word.parts ?? []).some(isComputedPart);
}

function isComputedPart(part: WordPart): boolean {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return false;
    case "DoubleQuoted":
    case "LocaleString":
      return part.parts.some((inner) => inner.type !== "Literal");
    default:
      return true;
  }
}
