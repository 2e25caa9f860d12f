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
  /** Words that are no command's arguments but can be paths: values of variables, lists of loops, redirections of whole blocks. */
  readonly words: readonly string[];
  /** False when the parser found a fault: the commands are then what it could recover. */
  readonly understood: boolean;
  /** False when the reader stopped before it had seen every command. */
  readonly complete: boolean;
}

/** Substitutions inside substitutions: each level is parsed again, so the depth bounds the work. */
const MAX_SUBSTITUTION_DEPTH = 24;
/** All texts parsed for one shell text together, as a multiple of its length. */
const MAX_PARSED_FACTOR = 16;
/** Expansions one text may open. The parser reads nested ones again and again, so their number bounds its work as well. */
const MAX_OPENERS = 256;

/** `${` one text may have: nested ones are read once for every outer one too, but faster. */
const MAX_PARAMETERS = 1024;

/** Reads shell text as Bash without executing anything. Never throws. */
export function readShellText(text: string): ShellText {
  const commands: ShellCommand[] = [];
  const words: string[] = [];
  if (countOpeners(text) > MAX_OPENERS || countParameters(text) > MAX_PARAMETERS)
    return { commands, words, understood: false, complete: false };
  let understood = true;
  let complete = true;
  let parsedChars = 0;
  const visit = (node: SyntaxNode, depth: number): void => {
    let inside = depth;
    if (node.type === "Script") {
      inside++;
      parsedChars += node.end - node.pos;
      if ("errors" in node && Array.isArray(node.errors) && node.errors.length > 0) understood = false;
      if (inside > MAX_SUBSTITUTION_DEPTH || parsedChars > MAX_PARSED_FACTOR * text.length + 4096) {
        complete = false;
        return;
      }
    }
    if (!complete) return;
    if (node.type === "Command") {
      const command = readCommand(node);
      if (command !== undefined) commands.push(command);
    }
    words.push(...wordsBesideCommands(node));
    forEachChild(node, (child) => visit(child, inside));
  };
  try {
    visit(parse(text), 0);
  } catch {
    understood = false;
    complete = false;
  }
  return { commands, words, understood, complete };
}

function countOpeners(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 96) count++;
    else if (unit === 40 && at > 0 && "$<>(".includes(text.charAt(at - 1))) count++;
  }
  return count;
}

function countParameters(text: string): number {
  let count = 0;
  for (let at = text.indexOf("${"); at >= 0; at = text.indexOf("${", at + 2)) count++;
  return count;
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

function* wordsBesideCommands(node: SyntaxNode): Generator<string> {
  switch (node.type) {
    case "Assignment":
      if (node.value.type === "Word") yield node.value.value;
      else for (const element of node.value.elements) yield element.value;
      break;
    case "For":
    case "Select":
      for (const word of node.wordlist ?? []) yield word.value;
      break;
    case "ParameterExpansion":
      if (node.operation?.type === "Default") yield node.operation.operand.value;
      break;
    case "Redirected":
      for (const redirect of node.redirects) {
        if (redirect.type === "Redirect" && redirect.target !== undefined) yield redirect.target.value;
      }
      break;
    default:
  }
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
