import type { $ZodIssue } from "zod/v4/core";
import type { CompiledPolicy, CompiledRule } from "./compiled-policy.js";
import { looseName } from "./executable-name.js";
import { matchesRule, matchSubject } from "./match-rule.js";
import { buildNameTable } from "./name-table.js";
import type { OptionGrammar } from "./option-reader.js";
import {
  type PolicyDocument,
  type PolicyRule,
  policyDocumentSchema,
  type TokenAlternative,
  type TokenPattern,
} from "./policy-document.js";
import { seeThrough } from "./see-through.js";
import { compileAlternatives, compileTokenPattern } from "./token-pattern.js";

/** What is wrong with a document, and where; `path` leads from the document's root. */
export interface PolicyProblem {
  readonly path: readonly (string | number)[];
  readonly ruleId?: string;
  /** What is wrong. */
  readonly message: string;
  /** What would be right. */
  readonly expected?: string;
}

/** A policy in force-able form, or everything that is wrong with the document. */
export type CompileResult =
  | { readonly ok: true; readonly policy: CompiledPolicy }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** Validates the shape of an untrusted document. Never throws. */
export function parsePolicyDocument(
  input: unknown,
):
  | { readonly ok: true; readonly document: PolicyDocument }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] } {
  const parsed = policyDocumentSchema.safeParse(input);
  if (parsed.success) return { ok: true, document: parsed.data };
  return { ok: false, problems: parsed.error.issues.flatMap((issue) => describeIssue(issue, input, [])) };
}

/** Compiles a parsed document and runs every rule's examples through it. `version` is the SHA-256 of the canonical document. */
export function compilePolicy(document: PolicyDocument, version: string): CompileResult {
  const problems = [...referenceProblems(document)];
  const policy = buildPolicy(document, version);
  document.rules.forEach((rule, index) => {
    const compiled = compileRule(rule, index);
    for (const kind of ["match", "not_match"] as const) {
      rule[kind].forEach((argv, example) => {
        const matched = seeThrough(argv, ".", policy).some((vector) =>
          matchesRule(compiled, matchSubject(vector.argv, policy.nameByPath)),
        );
        if (matched === (kind === "match")) return;
        problems.push({
          path: ["rules", index, kind, example],
          ruleId: rule.id,
          message: `the ${kind} example ${JSON.stringify(argv)} ${matched ? "is matched" : "is not matched"} by the rule`,
          expected: matched
            ? "an example the rule leaves alone, or a narrower rule"
            : "an example the rule covers, or a wider rule",
        });
      });
    }
  });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, policy };
}

function buildPolicy(document: PolicyDocument, version: string): CompiledPolicy {
  const rulesByName = new Map<string, CompiledRule[]>();
  const rulesForAll: CompiledRule[] = [];
  document.rules.forEach((rule, index) => {
    const compiled = compileRule(rule, index);
    const names = literalNames(rule.pattern[0]);
    if (names === undefined) rulesForAll.push(compiled);
    for (const name of names ?? []) {
      const listed = rulesByName.get(name);
      if (listed === undefined) rulesByName.set(name, [compiled]);
      else listed.push(compiled);
    }
  });
  const nameByPath = new Map<string, string>();
  for (const [name, paths] of Object.entries(document.executables)) {
    for (const path of paths) nameByPath.set(path, name);
  }
  return {
    version,
    document,
    scales: { sensitivity: document.sensitivity, trust: document.trust, categories: document.categories },
    nameByPath,
    rulesByName,
    rulesForAll,
    wrappers: buildNameTable(
      document.wrappers.map((wrapper) => ({
        names: wrapper.names,
        entry: { wrapper, grammar: compileGrammar(wrapper) },
      })),
    ),
    interpreters: buildNameTable(
      document.interpreters.map((interpreter) => ({
        names: interpreter.names,
        entry: {
          interpreter,
          grammar: compileGrammar(interpreter),
          codeToken:
            interpreter.code_tokens.length === 0 ? undefined : compileAlternatives(interpreter.code_tokens),
          plainCode: compileAlternatives(interpreter.plain_code),
        },
      })),
    ),
    patternOperands: buildNameTable(
      document.pattern_operands.map((entry) => ({
        names: entry.names,
        entry: { entry, grammar: compileGrammar(entry) },
      })),
    ),
    sinks: buildNameTable(document.sinks.map((sink) => ({ names: sink.executables, entry: sink }))),
    networkExecutables: buildNameTable([{ names: document.network.executables, entry: true as const }]),
  };
}

function compileRule(rule: PolicyRule, order: number): CompiledRule {
  const [first, ...rest] = rule.pattern;
  const takesValue = [...new Set(rule.options?.takes_value ?? [])].sort();
  return {
    rule,
    order,
    first: compileTokenPattern(first ?? []),
    firstFolded: compileTokenPattern(foldPattern(first ?? [])),
    rest: rest.map(compileTokenPattern),
    tokensAny: rule.tokens_any === undefined ? undefined : compileAlternatives(rule.tokens_any),
    tokensNone: rule.tokens_none === undefined ? undefined : compileAlternatives(rule.tokens_none),
    takesValue: new Set(takesValue),
    optionKey: `${rule.options?.style ?? "gnu"} ${takesValue.join(" ")}`,
  };
}

/** The loose names a first token can have; undefined when it is not made of literals only. */
function literalNames(pattern: TokenPattern | undefined): readonly string[] | undefined {
  const alternatives = toAlternatives(pattern ?? []);
  const names = new Set<string>();
  for (const alternative of alternatives) {
    if (typeof alternative !== "string") return undefined;
    names.add(looseName(alternative));
  }
  return [...names];
}

function foldPattern(pattern: TokenPattern): TokenPattern {
  return toAlternatives(pattern).map((alternative) => {
    if (typeof alternative === "string") return looseName(alternative);
    if ("glob" in alternative) return { glob: alternative.glob.toLowerCase() };
    return { chars: alternative.chars.toLowerCase() };
  });
}

function toAlternatives(pattern: TokenPattern): readonly TokenAlternative[] {
  return Array.isArray(pattern) ? pattern : [pattern];
}

function compileGrammar(spec: {
  readonly style: "gnu" | "single_dash";
  readonly flags: readonly string[];
  readonly takes_value: readonly string[];
  readonly optional_value: readonly string[];
  readonly numeric_options: boolean;
  readonly permute: boolean;
}): OptionGrammar {
  return {
    style: spec.style,
    flags: new Set(spec.flags),
    takesValue: new Set(spec.takes_value),
    optionalValue: new Set(spec.optional_value),
    numericOptions: spec.numeric_options,
    permute: spec.permute,
  };
}

function* referenceProblems(document: PolicyDocument): Generator<PolicyProblem> {
  const firstById = new Map<string, number>();
  for (const [index, rule] of document.rules.entries()) {
    const first = firstById.get(rule.id);
    if (first === undefined) firstById.set(rule.id, index);
    else {
      yield {
        path: ["rules", index, "id"],
        ruleId: rule.id,
        message: `rule id ${rule.id} is used twice`,
        expected: "an id of its own",
      };
    }
  }
  const pathOwner = new Map<string, string>();
  for (const [name, paths] of Object.entries(document.executables)) {
    for (const [index, path] of paths.entries()) {
      const owner = pathOwner.get(path);
      if (owner !== undefined) {
        yield {
          path: ["executables", name, index],
          message: `${path} already stands for ${owner}`,
          expected: "one name per path",
        };
      }
      pathOwner.set(path, name);
    }
  }
  const known = (
    list: readonly string[],
    value: string,
    path: readonly (string | number)[],
  ): PolicyProblem[] =>
    list.includes(value)
      ? []
      : [
          {
            path,
            message: `${value} is not defined`,
            expected: `one of ${list.join(", ") || "(none is defined)"}`,
          },
        ];
  yield* known(document.sensitivity, document.unmapped_max_sensitivity, ["unmapped_max_sensitivity"]);
  yield* known(document.sensitivity, document.network.max_sensitivity, ["network", "max_sensitivity"]);
  yield* known(document.sensitivity, document.session_label.sensitivity, ["session_label", "sensitivity"]);
  yield* known(document.trust, document.session_label.trust, ["session_label", "trust"]);
  for (const [index, category] of document.session_label.categories.entries()) {
    yield* known(document.categories, category, ["session_label", "categories", index]);
  }
  const unmapped = document.sensitivity.indexOf(document.unmapped_max_sensitivity);
  for (const [index, sink] of document.sinks.entries()) {
    yield* known(document.sensitivity, sink.max_sensitivity, ["sinks", index, "max_sensitivity"]);
    if (sink.trust === "untrusted" && document.sensitivity.indexOf(sink.max_sensitivity) > unmapped) {
      yield {
        path: ["sinks", index, "max_sensitivity"],
        message: "an untrusted sink can't have a higher clearance than an unmapped one",
        expected: `at most ${document.unmapped_max_sensitivity}`,
      };
    }
    if (sink.trust !== "untrusted" && sink.image_digests.length === 0) {
      yield {
        path: ["sinks", index, "image_digests"],
        message: `a ${sink.trust} sink names no image`,
        expected: "the sha256 digests of the images it holds for",
      };
    }
    for (const [at, category] of sink.categories.entries()) {
      yield* known(document.categories, category, ["sinks", index, "categories", at]);
    }
  }
}

function describeIssue(
  issue: $ZodIssue,
  input: unknown,
  prefix: readonly (string | number)[],
): PolicyProblem[] {
  const path = [...prefix, ...issue.path.map((part) => (typeof part === "symbol" ? String(part) : part))];
  const ruleId = ruleIdAt(input, path);
  const base = ruleId === undefined ? {} : { ruleId };
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        ...base,
        path: [...path, key],
        message: `unknown key ${JSON.stringify(key)}`,
        expected: "a key of this object, as in policy.schema.json",
      }));
    case "invalid_value":
      return [
        {
          ...base,
          path,
          message: "not one of the known values",
          expected: issue.values.map(String).join(", "),
        },
      ];
    case "invalid_type":
      return [{ ...base, path, message: "missing or of the wrong type", expected: issue.expected }];
    default:
      return [{ ...base, path, message: issue.message }];
  }
}

function ruleIdAt(input: unknown, path: readonly (string | number)[]): string | undefined {
  const [section, index] = path;
  if (section !== "rules" || typeof index !== "number" || typeof input !== "object" || input === null)
    return undefined;
  const rules: unknown = "rules" in input ? input.rules : undefined;
  const rule: unknown = Array.isArray(rules) ? rules[index] : undefined;
  if (typeof rule !== "object" || rule === null || !("id" in rule) || typeof rule.id !== "string")
    return undefined;
  return rule.id;
}
