import type { LabelScales } from "../data-flow/label.js";
import type { OptionGrammar } from "./option-reader.js";
import type {
  PolicyDocument,
  PolicyInterpreter,
  PolicyPatternOperands,
  PolicyRule,
  PolicySink,
  PolicyWrapper,
} from "./policy-document.js";
import type { TokenMatcher } from "./token-pattern.js";

/** A rule ready to match; `first` is null where the first token is compared by name only. */
export interface CompiledRule {
  readonly rule: PolicyRule;
  /** Position in the document: the first of equally strict rules speaks. */
  readonly order: number;
  readonly first: TokenMatcher;
  readonly firstFolded: TokenMatcher;
  readonly rest: readonly TokenMatcher[];
  readonly tokensAny: TokenMatcher | undefined;
  readonly tokensNone: TokenMatcher | undefined;
  readonly takesValue: ReadonlySet<string>;
  /** Rules with the same key share one reading of the options. */
  readonly optionKey: string;
}

/** A wrapper ready to be seen through. */
export interface CompiledWrapper {
  readonly wrapper: PolicyWrapper;
  readonly grammar: OptionGrammar;
}

/** An interpreter ready to be recognised. */
export interface CompiledInterpreter {
  readonly interpreter: PolicyInterpreter;
  readonly grammar: OptionGrammar;
  readonly codeToken: TokenMatcher | undefined;
  readonly plainCode: TokenMatcher;
}

/** Operands that are not paths, ready to be looked up. */
export interface CompiledPatternOperands {
  readonly entry: PolicyPatternOperands;
  readonly grammar: OptionGrammar;
}

/** A table by executable name: literal names in a map, globs in a list. */
export interface NameTable<T> {
  readonly byName: ReadonlyMap<string, readonly T[]>;
  readonly byGlob: readonly { readonly glob: string; readonly entry: T }[];
}

/** A document that passed every check, with its look-up tables. Immutable; safe to share and to swap whole. */
export interface CompiledPolicy {
  /** SHA-256 of the canonical document. */
  readonly version: string;
  readonly document: PolicyDocument;
  readonly scales: LabelScales;
  readonly nameByPath: ReadonlyMap<string, string>;
  readonly rulesByName: ReadonlyMap<string, readonly CompiledRule[]>;
  /** Rules whose first token is not only literals: tried on every vector. */
  readonly rulesForAll: readonly CompiledRule[];
  readonly wrappers: NameTable<CompiledWrapper>;
  readonly interpreters: NameTable<CompiledInterpreter>;
  readonly patternOperands: NameTable<CompiledPatternOperands>;
  readonly sinks: NameTable<PolicySink>;
  readonly networkExecutables: NameTable<true>;
}
