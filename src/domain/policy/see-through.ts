import { codeStartsGit, mentionsGitWord } from "../git-guard/code-scan.js";
import { isGit } from "../git-guard/recognise-git.js";
import type { CompiledInterpreter, CompiledPolicy, CompiledWrapper } from "./compiled-policy.js";
import { looseName } from "./executable-name.js";
import { lookUpName } from "./name-table.js";
import { readOptionFacts } from "./option-facts.js";
import { readOptions } from "./option-reader.js";
import { readShellText, type ShellCommand } from "./shell-text.js";
import { splitWords } from "./split-words.js";

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
  /** Where its first token stands in the requested argv; absent for what was parsed out of a token. */
  readonly offset?: number;
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
  offset?: number;
  delegated: (readonly [number, number])[];
  code: Set<number>;
  paths: string[];
  findings: Finding[];
  scriptIndex?: number;
  stdinText?: string;
}

/** Positions of an unknown shape that are tried as the beginning of an inner vector. */
const MAX_POSSIBLE_BEGINNINGS = 64;
/** Directories a vector is judged from at most; the one after every change and `.`, the strictest, are always among them. */
const MAX_DIRECTORIES = 8;
/** A longer directory can't be entered, and so not be judged from. */
const MAX_DIRECTORY_CHARS = 4095;
/** All shell texts of one request together, as a multiple of what one may have: text inside text is read again. */
const MAX_SHELL_TEXTS = 4;
/** Letters of an attached optional value that are read as possible options. */
const MAX_CLUSTER = 64;
const BASH_LIKE = new Set(["sh", "bash", "dash", "ash"]);
/** Shell builtins that change what later names mean. */
const RENAMING = new Set(["alias", "hash", "enable", "unalias"]);
/** Shell builtins with an option whose value they run (`mapfile -C`). */
const CALLING_BACK = new Set(["bind", "compgen", "complete", "mapfile", "readarray"]);
/** Shell builtins that evaluate an index among their words, substitutions included (`let 'a[$(x)]'`). */
const EVALUATING = new Set(["declare", "let", "local", "printf", "read", "test", "typeset", "unset", "["]);
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
  let shellChars = 0;
  let tooMany = false;
  const open = (
    vectorArgv: readonly string[],
    cwds: readonly string[],
    via: readonly string[],
    certain: boolean,
    more: { readonly stdinText?: string | undefined; readonly offset?: number | undefined } = {},
  ): OpenVector => ({
    argv: vectorArgv,
    cwds,
    via,
    certain,
    delegated: [],
    code: new Set(),
    paths: [],
    findings: [],
    ...(more.stdinText === undefined ? {} : { stdinText: more.stdinText }),
    ...(more.offset === undefined ? {} : { offset: more.offset }),
  });
  const offsetBehind = (parent: OpenVector, start: number): { readonly offset?: number } =>
    parent.offset === undefined ? {} : { offset: parent.offset + start };

  const enter = (vector: OpenVector): void => {
    if (seen.length > limits.max_inner_vectors) {
      tooMany = true;
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
    for (const wrapper of lookUpName(policy.wrappers, name)) {
      keepingPaths(vector, wrapper.wrapper.judged_as_paths, () => enterWrapper(vector, name, wrapper));
    }
    for (const interpreter of lookUpName(policy.interpreters, name)) {
      keepingPaths(vector, interpreter.interpreter.judged_as_paths, () =>
        enterInterpreter(vector, name, interpreter),
      );
    }
  };

  /** Enters every command of the text. True when one of them runs words that only exist at run time, such as `"$@"`. */
  const enterShellText = (parent: OpenVector, name: string, text: string, certain: boolean): boolean => {
    if (tooMany) return true;
    shellChars += text.length;
    if (
      text.length > limits.max_shell_text_chars ||
      shellChars > MAX_SHELL_TEXTS * limits.max_shell_text_chars
    ) {
      parent.findings.push(denied("shell_text_too_long", "the shell text is longer than the policy reads"));
      return true;
    }
    const { commands, words, understood, complete } = readShellText(text);
    parent.paths.push(...words);
    if (!complete)
      parent.findings.push(
        denied("shell_text_too_deep", "the shell text is nested deeper than the policy reads"),
      );
    let computed = !understood || !BASH_LIKE.has(name);
    let directories = parent.cwds;
    let runsComputedWords = !understood;
    for (const command of commands) {
      const inner = looseName(command.argv[0] ?? "");
      computed ||=
        command.computedName || RENAMING.has(inner) || runsUnseenText(command, policy) || evaluates(command);
    }
    if (computed && mentionsGitWord(text)) parent.findings.push(visibleGit());
    if (!understood)
      parent.findings.push(asked("shell_text_unreadable", "the shell text can't be read with certainty"));
    for (const command of commands) {
      if (tooMany) break;
      const inner = open(command.argv, directories, [...parent.via, name], certain && parent.certain, {
        stdinText: command.stdinText,
      });
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
        const target = command.argv.slice(1).find((word) => !word.startsWith("-"));
        directories = changedDirectories(directories, target ?? ".");
      }
    }
    return runsComputedWords;
  };

  /** Tries every word from `from` on, and every `--option=word`, as the beginning of an inner vector. */
  const enterPossible = (parent: OpenVector, name: string, from = 1): void => {
    let tried = 0;
    for (let index = from; index < parent.argv.length; index++) {
      const written = parent.argv[index] ?? "";
      const equals = written.startsWith("-") ? written.indexOf("=") : -1;
      const token = equals < 0 ? written : written.slice(equals + 1);
      if (token === "" || token.startsWith("-")) continue;
      if (++tried > MAX_POSSIBLE_BEGINNINGS) {
        parent.findings.push(
          denied("wrapper_unreadable", "the wrapper's words can't be read and are too many to try"),
        );
        return;
      }
      const possible = open(
        [token, ...parent.argv.slice(index + 1)],
        parent.cwds,
        [...parent.via, name],
        false,
        equals < 0 ? offsetBehind(parent, index) : {},
      );
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
    if (wrapper.bundled_operand && tokens[1] !== undefined && !tokens[1].startsWith("-")) {
      enterBundled(vector, name, compiled);
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
        vector.findings.push(asked("inline_code", "an option carries a command"));
        enterShellText(vector, name, withoutPrefix(value, wrapper.text_prefixes), true);
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
    const enterUnknown = (from: number): void => {
      vector.findings.push(
        asked("wrapper_unknown_shape", "the wrapper is used in a way the policy does not know"),
      );
      enterPossible(vector, name, from);
    };
    if (!read.understood || wrapper.inner === "any_word") {
      enterUnknown(1);
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
    if (wrapper.subcommands !== undefined) {
      if (!wrapper.subcommands.includes(tokens[start - 1] ?? "")) return;
      // A subcommand has options of its own, which the entry does not describe.
      if ((tokens[start] ?? "").startsWith("-")) {
        enterUnknown(start);
        return;
      }
    }
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
    if (wrapper.appends_arguments) {
      vector.findings.push(asked("appended_arguments", "the wrapper adds arguments that can't be seen"));
    }
    if (wrapper.inner === "shell_text") {
      for (let index = start; index < tokens.length; index++) vector.code.add(index);
      vector.findings.push(asked("inline_code", "the wrapper hands its words to a shell"));
      enterShellText(vector, name, tokens.slice(start).join(" "), true);
      // Some of these can be told to start several words as they are (`watch -x`), which quotes inside a word can tell apart.
      if (tokens.length > start + 1)
        enter(open(tokens.slice(start), cwdsInside, via, vector.certain, offsetBehind(vector, start)));
      return;
    }
    vector.delegated.push([start, tokens.length]);
    enter(open(tokens.slice(start), cwdsInside, via, vector.certain, offsetBehind(vector, start)));
  };

  /** Options without a dash (`tar xIf PROGRAM FILE`): one of the next words is the text, and which one depends on all letters. */
  const enterBundled = (vector: OpenVector, name: string, { wrapper }: CompiledWrapper): void => {
    const letters = [...(vector.argv[1] ?? "").slice(0, MAX_CLUSTER)];
    if (!letters.some((letter) => wrapper.text_options.includes(`-${letter}`))) return;
    vector.findings.push(asked("inline_code", "an option carries a command"));
    for (const text of vector.argv.slice(2, 2 + letters.length)) enterShellText(vector, name, text, false);
  };

  const enterMarked = (vector: OpenVector, name: string, markers: readonly string[]): void => {
    const { argv: tokens } = vector;
    for (let index = 1; index < tokens.length; index++) {
      const token = tokens[index] ?? "";
      const attached = markers.find((marker) => token.startsWith(`${marker}=`));
      if (attached !== undefined) {
        vector.findings.push(asked("inline_code", "an option carries a command"));
        enterShellText(vector, name, token.slice(attached.length + 1), true);
      }
      if (!markers.includes(token)) continue;
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
        enter(
          open(
            tokens.slice(start, end),
            vector.cwds,
            [...vector.via, name],
            vector.certain,
            offsetBehind(vector, start),
          ),
        );
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
      // Where the options could not be read, a word taken for code may just as well be a path.
      if (read.understood) vector.code.add(index);
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
    for (const [index, token] of tokens.entries()) {
      if (index === 0 || codeToken === undefined || !codeToken(token)) continue;
      inline = true;
      texts.push(token);
    }
    if (read.options.some((option) => interpreter.file_options.includes(option.name) && option.value === "-"))
      inline = true;
    if (vector.stdinText !== undefined && firstOperand === undefined) {
      inline = true;
      texts.push(vector.stdinText);
    }
    if (!read.understood) {
      const facts = readOptionFacts(tokens, grammar.style, new Set());
      if (
        interpreter.shell ||
        interpreter.code_operand ||
        interpreter.code_options.some((option) => facts.has(option))
      ) {
        inline = true;
        for (const token of tokens.slice(1)) texts.push(token, token.slice(token.indexOf("=") + 1));
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

  enter(open(argv, [cwd], [], true, { offset: 0 }));
  return seen;
}

/** Runs `enterEntry`; with `judged` the words it takes for code or for an inner vector stay words that can be paths. */
function keepingPaths(vector: OpenVector, judged: boolean, enterEntry: () => void): void {
  const { code, delegated } = vector;
  if (judged) {
    vector.code = new Set(code);
    vector.delegated = [...delegated];
  }
  enterEntry();
  if (judged) {
    vector.code = code;
    vector.delegated = delegated;
  }
}

/**
 * Where a command may be judged from after a change of directory that may or may not have happened. The first one is where every
 * change so far leads, so that it is never the one that is dropped.
 */
function changedDirectories(cwds: readonly string[], target: string): readonly string[] {
  const changed = cwds.map((cwd) => changedDirectory(cwd, target));
  const result = new Set<string>();
  for (const cwd of [changed[0], ".", ...cwds, ...changed.slice(1)]) {
    if (cwd === undefined || cwd.length > MAX_DIRECTORY_CHARS) continue;
    if (result.size < MAX_DIRECTORIES) result.add(cwd);
  }
  return [...result];
}

/** The directory behind the change; undefined when it leaves the workspace or is its root. */
function changedDirectory(cwd: string, target: string): string | undefined {
  const parts = cwd === "." || target.startsWith("/") ? [] : cwd.split("/");
  const rest = /^\/+workspace(?=\/|$)/.test(target) ? target.replace(/^\/+workspace/, "") : target;
  let left = false;
  for (const part of rest.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) left = true;
  }
  return left || parts.length === 0 ? undefined : parts.join("/");
}

/** True when the command runs text that is not among its words: a shell that reads its input, also by `xargs`, or `source <(x)`. */
function runsUnseenText(command: ShellCommand, policy: CompiledPolicy): boolean {
  const [argv0 = "", ...words] = command.argv;
  const name = looseName(argv0);
  const isShell = (word: string) =>
    lookUpName(policy.interpreters, looseName(word)).some(({ interpreter }) => interpreter.shell);
  const isWrapper = (word: string) => lookUpName(policy.wrappers, looseName(word)).length > 0;
  const onlyOptions = words.every((word) => /^[-+]/.test(word));
  if (name === "source" || name === ".") return command.computedTokens.length > 0;
  if (isShell(argv0))
    return command.stdinText === undefined && onlyOptions && !words.some((word) => /^-[a-z]*c/.test(word));
  const appends = lookUpName(policy.wrappers, name).some(({ wrapper }) => wrapper.appends_arguments);
  return appends && (onlyOptions || words.some((word) => isShell(word) || isWrapper(word)));
}

/** True when the shell runs or evaluates a word of the command once more. */
function evaluates({ argv: [name = "", ...words] }: ShellCommand): boolean {
  if (CALLING_BACK.has(name)) return words.some((word) => /^-[A-Za-z]*[Cx]/.test(word));
  return EVALUATING.has(name) && words.some((word) => word.includes("["));
}

/** The text behind a prefix such as `ProxyCommand=`, whatever its case, also where blanks stand for the `=`. */
function withoutPrefix(text: string, prefixes: readonly string[]): string {
  for (const prefix of prefixes) {
    if (text.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase()) return text.slice(prefix.length);
    const word = prefix.replace(/=$/, "");
    if (text.slice(0, word.length).toLowerCase() !== word.toLowerCase()) continue;
    const rest = text.slice(word.length);
    if (/^\s/.test(rest)) return rest.trimStart().replace(/^=/, "");
  }
  return text;
}

/** True when one literal of program text, read as shell text, starts Git directly or behind one known wrapper. */
function shellTextStartsGit(text: string, policy: CompiledPolicy): boolean {
  return readShellText(text).commands.some(({ argv }) => {
    if (isGit(argv[0] ?? "")) return true;
    if (lookUpName(policy.wrappers, looseName(argv[0] ?? "")).length === 0) return false;
    return argv.some((token) => isGit(token));
  });
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
