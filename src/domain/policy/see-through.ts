import { codeStartsGit, mentionsGitWord } from "../git-guard/code-scan.js";
import { isGit } from "../git-guard/recognise-git.js";
import type { CompiledInterpreter, CompiledPolicy, CompiledWrapper } from "./compiled-policy.js";
import { looseName } from "./executable-name.js";
import { lookUpName } from "./name-table.js";
import { readOptionFacts } from "./option-facts.js";
import { readOptions } from "./option-reader.js";
import { readShellText } from "./shell-text.js";

/** Something seen on the way that by itself limits the decision. */
export interface Finding {
  readonly layer: "git_guard" | "policy";
  readonly verdict: "ask" | "deny";
  readonly code: string;
  readonly reason: string;
}

/** One vector of a request, the requested one or one inside it, as far as it can be read. */
export interface SeenVector {
  readonly argv: readonly string[];
  /** Directories its relative paths are judged from: more than one where shell text may have changed it. */
  readonly cwds: readonly string[];
  readonly via: readonly string[];
  /** False for one of several possible readings: it can only make the decision stricter. */
  readonly certain: boolean;
  /** Half-open token ranges that are inner vectors and are judged there. */
  readonly delegated: readonly (readonly [number, number])[];
  /** Tokens that are program text, not paths. */
  readonly code: ReadonlySet<number>;
  /** Words that are paths although they are no tokens of the argv: redirections. */
  readonly paths: readonly string[];
  readonly findings: readonly Finding[];
  /** Token that names a script file, whose content an approval binds. */
  readonly scriptIndex?: number;
}

interface OpenVector {
  argv: readonly string[];
  cwds: readonly string[];
  via: readonly string[];
  certain: boolean;
  delegated: (readonly [number, number])[];
  code: Set<number>;
  paths: string[];
  findings: Finding[];
  scriptIndex?: number;
  stdinText?: string;
}

/** Positions of an unknown shape that are tried as the beginning of an inner vector. */
const MAX_POSSIBLE_BEGINNINGS = 64;
/** Directories a vector is judged from at most; `.`, the strictest, is always among them. */
const MAX_DIRECTORIES = 4;
/** Letters of an attached optional value that are read as possible options. */
const MAX_CLUSTER = 64;
const BASH_LIKE = new Set(["sh", "bash", "dash", "ash"]);
/** Shell builtins that change what later names mean. */
const RENAMING = new Set(["alias", "hash", "enable", "unalias"]);
const CHANGING_DIRECTORY = new Set(["cd", "pushd", "popd"]);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;

/**
 * Every vector a request would start, as far as it can be read: the requested one first, then inner ones in order. Depth, count
 * and text length are bounded by the policy; what lies beyond a bound is a deny finding, what is not understood an ask finding.
 */
export function seeThrough(
  argv: readonly string[],
  cwd: string,
  policy: CompiledPolicy,
): readonly SeenVector[] {
  const { limits } = policy.document;
  const seen: OpenVector[] = [];
  const open = (
    vectorArgv: readonly string[],
    cwds: readonly string[],
    via: readonly string[],
    certain: boolean,
    stdinText?: string,
  ): OpenVector => ({
    argv: vectorArgv,
    cwds,
    via,
    certain,
    delegated: [],
    code: new Set(),
    paths: [],
    findings: [],
    ...(stdinText === undefined ? {} : { stdinText }),
  });

  const enter = (vector: OpenVector): void => {
    if (seen.length > limits.max_inner_vectors) {
      const first = seen[0];
      if (
        first !== undefined &&
        !first.findings.some((finding) => finding.code === "too_many_inner_vectors")
      ) {
        first.findings.push(
          denied("too_many_inner_vectors", "the request holds more inner commands than the policy reads"),
        );
      }
      return;
    }
    seen.push(vector);
    if (vector.via.length > limits.max_wrapper_depth) {
      vector.findings.push(denied("wrapped_too_deep", "the request is nested deeper than the policy reads"));
      return;
    }
    const name = looseName(vector.argv[0] ?? "");
    for (const wrapper of lookUpName(policy.wrappers, name)) enterWrapper(vector, name, wrapper);
    for (const interpreter of lookUpName(policy.interpreters, name))
      enterInterpreter(vector, name, interpreter);
  };

  /** Enters every command of the text. True when one of them runs words that only exist at run time, such as `"$@"`. */
  const enterShellText = (parent: OpenVector, name: string, text: string, certain: boolean): boolean => {
    if (text.length > limits.max_shell_text_chars) {
      parent.findings.push(denied("shell_text_too_long", "the shell text is longer than the policy reads"));
      return true;
    }
    const { commands, understood, complete } = readShellText(text);
    if (!complete)
      parent.findings.push(
        denied("shell_text_too_deep", "the shell text is nested deeper than the policy reads"),
      );
    let computed = !understood || !BASH_LIKE.has(name);
    let directories = parent.cwds;
    let runsComputedWords = !understood;
    for (const command of commands) {
      const inner = looseName(command.argv[0] ?? "");
      computed ||= command.computedName || RENAMING.has(inner);
    }
    if (computed && mentionsGitWord(text)) parent.findings.push(visibleGit());
    if (!understood)
      parent.findings.push(asked("shell_text_unreadable", "the shell text can't be read with certainty"));
    for (const command of commands) {
      const inner = open(
        command.argv,
        directories,
        [...parent.via, name],
        certain && parent.certain,
        command.stdinText,
      );
      inner.paths.push(...command.redirects);
      if (command.computedName)
        inner.findings.push(asked("computed_command", "the shell text computes the name of a command"));
      else if (command.computedTokens.length > 0) {
        inner.findings.push(asked("computed_arguments", "the shell text computes arguments of a command"));
      }
      const runsWords =
        lookUpName(policy.wrappers, looseName(command.argv[0] ?? "")).length > 0 ||
        lookUpName(policy.interpreters, looseName(command.argv[0] ?? "")).length > 0;
      runsComputedWords ||= command.computedName || (runsWords && command.computedTokens.length > 0);
      enter(inner);
      if (CHANGING_DIRECTORY.has(looseName(command.argv[0] ?? ""))) {
        directories = changedDirectories(directories, command.argv[1] ?? ".");
      }
    }
    return runsComputedWords;
  };

  /** Tries every word from `from` on as the beginning of an inner vector. */
  const enterPossible = (parent: OpenVector, name: string, from = 1): void => {
    let tried = 0;
    for (let index = from; index < parent.argv.length; index++) {
      const token = parent.argv[index] ?? "";
      if (token === "" || token.startsWith("-")) continue;
      if (++tried > MAX_POSSIBLE_BEGINNINGS) {
        parent.findings.push(
          denied("wrapper_unreadable", "the wrapper's words can't be read and are too many to try"),
        );
        return;
      }
      const possible = open(parent.argv.slice(index), parent.cwds, [...parent.via, name], false);
      // Its words are the parent's own, which judges them.
      possible.delegated.push([0, possible.argv.length]);
      enter(possible);
      if (/\s/.test(token)) enterShellText(parent, name, token, false);
    }
  };

  const enterWrapper = (vector: OpenVector, name: string, compiled: CompiledWrapper): void => {
    const { wrapper, grammar } = compiled;
    const via = [...vector.via, name];
    const { argv: tokens } = vector;
    if (wrapper.exec_markers.length > 0) {
      enterMarked(vector, name, wrapper.exec_markers);
      return;
    }
    const read = readOptions(tokens, grammar);
    let cwdsInside = vector.cwds;
    for (const option of read.options) {
      const { name: optionName, value, index, valueIndex } = option;
      if (wrapper.opaque_options.includes(optionName)) {
        vector.findings.push(
          asked("wrapper_option", "an option of the wrapper changes what the inner command does"),
        );
      }
      if (value === undefined || valueIndex === undefined) continue;
      if (wrapper.text_options.includes(optionName)) {
        vector.code.add(valueIndex);
        const prefix = wrapper.text_prefixes.find((candidate) => value.startsWith(candidate)) ?? "";
        vector.findings.push(asked("inline_code", "an option carries a command"));
        enterShellText(vector, name, value.slice(prefix.length), true);
      }
      if (wrapper.chdir_options.includes(optionName)) cwdsInside = changedDirectories(cwdsInside, value);
      if (wrapper.split_options.includes(optionName)) {
        const words = splitWords(value);
        if (words === undefined) {
          vector.findings.push(
            asked("split_unreadable", "the words to be split can't be read with certainty"),
          );
          if (mentionsGitWord(value)) vector.findings.push(visibleGit());
        }
        const after = Math.max(index, valueIndex) + 1;
        const spliced = [
          tokens[0] ?? "",
          ...(words ?? value.split(/\s+/).filter(Boolean)),
          ...tokens.slice(after),
        ];
        vector.code.add(valueIndex);
        vector.delegated.push([after, tokens.length]);
        vector.findings.push(asked("split_words", "the wrapper splits a token into words"));
        enter(open(spliced, cwdsInside, via, vector.certain));
        return;
      }
    }
    if (wrapper.inner === "none") return;
    if (!read.understood) {
      vector.findings.push(
        asked("wrapper_unknown_shape", "the wrapper is used in a way the policy does not know"),
      );
      enterPossible(vector, name);
      return;
    }
    let start = read.restIndex;
    if (wrapper.permute) start = read.operands[0] ?? tokens.length;
    if (wrapper.assignments) {
      const firstWord = start;
      while (start < tokens.length && ASSIGNMENT.test(tokens[start] ?? "")) start++;
      if (start > firstWord) {
        vector.findings.push(
          asked("wrapper_assignment", "the wrapper changes the environment of the inner command"),
        );
      }
    }
    start += wrapper.operands;
    if (start >= tokens.length) return;
    if (wrapper.operands > 0) {
      const first = tokens[start] ?? "";
      if (wrapper.text_options.includes(first)) {
        const text = tokens[start + 1];
        if (text !== undefined) {
          vector.code.add(start + 1);
          vector.findings.push(asked("inline_code", "an option carries a command"));
          enterShellText(vector, name, text, true);
        }
        return;
      }
      if (first === "--") start++;
    }
    if (wrapper.subcommands !== undefined && !wrapper.subcommands.includes(tokens[start - 1] ?? "")) return;
    if (wrapper.appends_arguments) {
      vector.findings.push(asked("appended_arguments", "the wrapper adds arguments that can't be seen"));
    }
    if (wrapper.inner === "shell_text") {
      for (let index = start; index < tokens.length; index++) vector.code.add(index);
      vector.findings.push(asked("inline_code", "the wrapper hands its words to a shell"));
      enterShellText(vector, name, tokens.slice(start).join(" "), true);
      return;
    }
    vector.delegated.push([start, tokens.length]);
    enter(open(tokens.slice(start), cwdsInside, via, vector.certain));
  };

  const enterMarked = (vector: OpenVector, name: string, markers: readonly string[]): void => {
    const { argv: tokens } = vector;
    for (let index = 1; index < tokens.length; index++) {
      if (!markers.includes(tokens[index] ?? "")) continue;
      const start = index + 1;
      let end = start;
      while (end < tokens.length && tokens[end] !== ";" && !(tokens[end] === "+" && tokens[end - 1] === "{}"))
        end++;
      if (end >= tokens.length) {
        vector.findings.push(
          asked("wrapper_unknown_shape", "the wrapper is used in a way the policy does not know"),
        );
      }
      vector.findings.push(asked("appended_arguments", "the wrapper adds arguments that can't be seen"));
      if (end > start) {
        vector.delegated.push([start, end]);
        enter(open(tokens.slice(start, end), vector.cwds, [...vector.via, name], vector.certain));
      }
      index = end;
    }
  };

  const enterInterpreter = (vector: OpenVector, name: string, compiled: CompiledInterpreter): void => {
    const { interpreter, grammar, codeToken, plainCode } = compiled;
    const { argv: tokens } = vector;
    const read = readOptions(tokens, grammar);
    const isCode = (option: string) => interpreter.code_options.includes(option);
    const texts: string[] = [];
    const take = (index: number, text: string | undefined) => {
      vector.code.add(index);
      if (text !== undefined) texts.push(text);
    };
    let inline = false;
    let firstOperand = read.operands[0];
    for (const option of read.options) {
      const { value = "", valueIndex = option.index } = option;
      if (
        grammar.optionalValue.has(option.name) &&
        [...value.slice(0, MAX_CLUSTER)].some((letter) => isCode(`-${letter}`))
      ) {
        // An optional value may end where the next option letter begins (`perl -lane`): doubt counts as code.
        inline = true;
        texts.push(value, tokens[valueIndex + 1] ?? "");
      }
      if (!isCode(option.name)) continue;
      inline = true;
      if (option.valueIndex !== undefined) take(option.valueIndex, option.value);
    }
    const codeIsOperand =
      interpreter.code_operand &&
      !read.options.some((option) => interpreter.file_options.includes(option.name) || isCode(option.name));
    if ((codeIsOperand || (interpreter.shell && inline)) && firstOperand !== undefined) {
      inline ||= !plainCode(tokens[firstOperand] ?? "");
      take(firstOperand, tokens[firstOperand]);
      firstOperand = undefined;
    }
    if (codeToken !== undefined && tokens.some((token, index) => index > 0 && codeToken(token)))
      inline = true;
    if (read.options.some((option) => interpreter.file_options.includes(option.name) && option.value === "-"))
      inline = true;
    if (vector.stdinText !== undefined && firstOperand === undefined) {
      inline = true;
      texts.push(vector.stdinText);
    }
    if (!read.understood) {
      const facts = readOptionFacts(tokens, grammar.style, new Set());
      if (interpreter.code_operand || interpreter.code_options.some((option) => facts.has(option)))
        inline = true;
      if (inline) {
        for (let index = 1; index < tokens.length; index++) texts.push(tokens[index] ?? "");
      }
    }
    if (inline) {
      vector.findings.push(asked("inline_code", "code given as an argument needs a person's yes"));
    }
    for (const text of texts) {
      if (interpreter.shell) {
        const runsComputedWords = enterShellText(vector, name, text, read.understood);
        if (runsComputedWords && read.operands[1] !== undefined)
          enterPossible(vector, name, read.operands[1]);
      } else if (codeStartsGit(text, (literal) => shellTextStartsGit(literal, policy)))
        vector.findings.push(visibleGit());
    }
    if (
      !codeIsOperand &&
      !inline &&
      interpreter.script_operand &&
      firstOperand !== undefined &&
      tokens[firstOperand] !== "-"
    ) {
      vector.scriptIndex ??= firstOperand;
    }
    for (const option of read.options) {
      if (interpreter.file_options.includes(option.name) && option.valueIndex === option.index + 1) {
        vector.scriptIndex ??= option.valueIndex;
      }
    }
  };

  enter(open(argv, [cwd], [], true));
  return seen;
}

/** Where a command may be judged from after a change of directory that may or may not have happened. */
function changedDirectories(cwds: readonly string[], target: string): readonly string[] {
  const result = new Set<string>(["."]);
  for (const cwd of cwds) {
    const parts = cwd === "." || target.startsWith("/") ? [] : cwd.split("/");
    const rest = /^\/+workspace(?=\/|$)/.test(target) ? target.replace(/^\/+workspace/, "") : target;
    let left = false;
    for (const part of rest.split("/")) {
      if (part === "" || part === ".") continue;
      if (part !== "..") parts.push(part);
      else if (parts.pop() === undefined) left = true;
    }
    if (!left && parts.length > 0 && result.size < MAX_DIRECTORIES) result.add(parts.join("/"));
  }
  return [...result];
}

/** True when one literal of program text, read as shell text, starts Git directly or behind one known wrapper. */
function shellTextStartsGit(text: string, policy: CompiledPolicy): boolean {
  return readShellText(text).commands.some(({ argv }) => {
    if (isGit(argv[0] ?? "")) return true;
    if (lookUpName(policy.wrappers, looseName(argv[0] ?? "")).length === 0) return false;
    return argv.some((token) => isGit(token));
  });
}

/** Splits text as `env -S` does where that is certain: blanks, simple quotes, no expansion; else undefined. */
function splitWords(text: string): readonly string[] | undefined {
  if (/[\\$#]/.test(text)) return undefined;
  const words: string[] = [];
  const pattern = /"([^"]*)"|'([^']*)'|([^\s"']+)|(\s+)|(["'])/g;
  let word: string | undefined;
  for (const match of text.matchAll(pattern)) {
    if (match[5] !== undefined) return undefined;
    if (match[4] !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + (match[1] ?? match[2] ?? match[3] ?? "");
  }
  if (word !== undefined) words.push(word);
  return words;
}

function asked(code: string, reason: string): Finding {
  return { layer: "policy", verdict: "ask", code, reason };
}

function denied(code: string, reason: string): Finding {
  return { layer: "policy", verdict: "deny", code, reason };
}

function visibleGit(): Finding {
  return {
    layer: "git_guard",
    verdict: "deny",
    code: "wrapped_git",
    reason: "raw Git inside program text is refused",
  };
}
