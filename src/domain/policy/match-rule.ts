import type { CompiledPolicy, CompiledRule } from "./compiled-policy.js";
import { looseName, strictName } from "./executable-name.js";
import { type OptionFacts, readOptionFacts } from "./option-facts.js";

/** One vector prepared for matching against many rules. */
export interface MatchSubject {
  readonly argv: readonly string[];
  readonly loose: string;
  readonly strict: string | undefined;
  optionFacts(rule: CompiledRule): OptionFacts;
}

/** Prepares a vector: names once, options once per way of reading them. */
export function matchSubject(argv: readonly string[], nameByPath: ReadonlyMap<string, string>): MatchSubject {
  const factsByKey = new Map<string, OptionFacts>();
  const argv0 = argv[0] ?? "";
  return {
    argv,
    loose: looseName(argv0),
    strict: strictName(argv0, nameByPath),
    optionFacts(rule) {
      const known = factsByKey.get(rule.optionKey);
      if (known !== undefined) return known;
      const facts = readOptionFacts(argv, rule.rule.options?.style ?? "gnu", rule.takesValue);
      factsByKey.set(rule.optionKey, facts);
      return facts;
    },
  };
}

/**
 * True when the rule speaks about the vector. An allow rule needs the exact name (or a listed path of it); ask and deny rules also
 * hold for every path, case and Windows suffix of the name.
 */
export function matchesRule(compiled: CompiledRule, subject: MatchSubject): boolean {
  const { rule, rest } = compiled;
  const { argv } = subject;
  if (argv.length <= rest.length) return false;
  if (rule.exact && argv.length !== rest.length + 1) return false;
  if (!matchesFirst(compiled, subject)) return false;
  for (let index = 0; index < rest.length; index++) {
    const matcher = rest[index];
    const token = argv[index + 1];
    if (matcher === undefined || token === undefined || !matcher(token)) return false;
  }
  if (rule.options !== undefined) {
    const facts = subject.optionFacts(compiled);
    if (rule.options.any !== undefined && !rule.options.any.some((option) => facts.has(option))) return false;
    if (rule.options.none?.some((option) => facts.has(option))) return false;
  }
  if (rule.max_operands !== undefined && subject.optionFacts(compiled).operandCount > rule.max_operands)
    return false;
  const { tokensAny, tokensNone } = compiled;
  if (tokensAny !== undefined && !anyAfterFirst(argv, tokensAny)) return false;
  return tokensNone === undefined || !anyAfterFirst(argv, tokensNone);
}

/** Every rule that speaks about the vector, in document order within each index. */
export function matchingRules(policy: CompiledPolicy, subject: MatchSubject): readonly CompiledRule[] {
  const found: CompiledRule[] = [];
  for (const compiled of policy.rulesByName.get(subject.loose) ?? []) {
    if (matchesRule(compiled, subject)) found.push(compiled);
  }
  for (const compiled of policy.rulesForAll) {
    if (matchesRule(compiled, subject)) found.push(compiled);
  }
  return found;
}

function matchesFirst(compiled: CompiledRule, subject: MatchSubject): boolean {
  const argv0 = subject.argv[0] ?? "";
  if (subject.strict !== undefined && compiled.first(subject.strict)) return true;
  if (compiled.first(argv0) && argv0.includes("/")) return true;
  return compiled.rule.decision !== "allow" && compiled.firstFolded(subject.loose);
}

function anyAfterFirst(argv: readonly string[], matches: (token: string) => boolean): boolean {
  for (let index = 1; index < argv.length; index++) {
    if (matches(argv[index] ?? "")) return true;
  }
  return false;
}
