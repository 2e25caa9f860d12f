import { createHash } from "node:crypto";
import { type Document, isNode, LineCounter, parseDocument } from "yaml";
import { canonicalJson } from "../../domain/canonical-json.js";
import {
  compilePolicy,
  type PolicyProblem,
  parsePolicyDocument,
} from "../../domain/policy/compile-policy.js";
import type { CompiledPolicy } from "../../domain/policy/compiled-policy.js";
import { mergePolicies } from "../../domain/policy/merge-policies.js";
import type { PolicyDocument } from "../../domain/policy/policy-document.js";

/** One policy text; `name` is what problems call it. YAML or JSON. */
export interface PolicyText {
  readonly name: string;
  readonly text: string;
}

/** A problem with the place a person has to look at. Line and column count from 1. */
export interface PolicyFileProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly ruleId?: string;
  readonly message: string;
  readonly expected?: string;
}

/** The compiled policy, or everything that is wrong with the texts. */
export type LoadPolicyResult =
  | { readonly ok: true; readonly policy: CompiledPolicy }
  | { readonly ok: false; readonly problems: readonly PolicyFileProblem[] };

/** More than this is no policy a person wrote. */
const MAX_TEXT_CHARS = 4 << 20;

interface ParsedText {
  readonly name: string;
  readonly yaml: Document;
  readonly lines: LineCounter;
}

/** Parses, merges and compiles policy texts in order; the first is the base. Never throws for any text. */
export function loadPolicy(texts: readonly PolicyText[]): LoadPolicyResult {
  if (texts.length === 0) {
    return {
      ok: false,
      problems: [{ file: "(none)", line: 1, column: 1, message: "no policy text was given" }],
    };
  }
  const problems: PolicyFileProblem[] = [];
  const parsed: ParsedText[] = [];
  const documents: PolicyDocument[] = [];
  const given: ReadonlySet<string>[] = [];
  for (const { name, text } of texts) {
    const source = parseText(name, text, problems);
    if (source === undefined) continue;
    let value: unknown;
    try {
      value = source.yaml.toJS({ maxAliasCount: 100 });
    } catch {
      problems.push({
        file: name,
        line: 1,
        column: 1,
        message: "too many aliases",
        expected: "at most 100 aliases",
      });
      continue;
    }
    const result = parsePolicyDocument(value);
    if (!result.ok) {
      problems.push(...result.problems.map((problem) => place(problem, source)));
      continue;
    }
    parsed.push(source);
    documents.push(result.document);
    given.push(new Set(Object.keys(typeof value === "object" && value !== null ? value : {})));
  }
  if (problems.length > 0) return { ok: false, problems };

  const merged = mergePolicies(documents, given);
  if (merged === undefined) return { ok: false, problems: [] };
  for (const problem of merged.problems) {
    const source = parsed[problem.file];
    if (source !== undefined) problems.push(place(problem, source));
  }
  const version = versionOf(merged.document);
  if (version === undefined) {
    return {
      ok: false,
      problems: [
        {
          file: texts[0]?.name ?? "",
          line: 1,
          column: 1,
          message: "the document has no canonical form",
          expected: "well-formed Unicode text",
        },
      ],
    };
  }
  const compiled = compilePolicy(merged.document, version);
  if (!compiled.ok) {
    for (const problem of compiled.problems) {
      const origin = merged.locate(problem.path);
      const source = parsed[origin.file];
      if (source !== undefined) problems.push(place({ ...problem, path: origin.path }, source));
    }
  }
  if (problems.length > 0 || !compiled.ok) return { ok: false, problems };
  return compiled;
}

/** One line for a person: `FILE:LINE:COLUMN: [rule] what is wrong (expected …)`. */
export function formatPolicyProblem(problem: PolicyFileProblem): string {
  const rule = problem.ruleId === undefined ? "" : ` [${problem.ruleId}]`;
  const expected = problem.expected === undefined ? "" : ` (expected ${problem.expected})`;
  return `${problem.file}:${problem.line}:${problem.column}:${rule} ${problem.message}${expected}`;
}

/** SHA-256 of the canonical JSON of the whole document with its defaults; undefined for text that is not Unicode. */
function versionOf(document: PolicyDocument): string | undefined {
  try {
    return createHash("sha256").update(canonicalJson(document)).digest("hex");
  } catch {
    return undefined;
  }
}

function parseText(name: string, text: string, problems: PolicyFileProblem[]): ParsedText | undefined {
  if (text.length > MAX_TEXT_CHARS) {
    problems.push({
      file: name,
      line: 1,
      column: 1,
      message: "the text is too long",
      expected: `at most ${MAX_TEXT_CHARS} characters`,
    });
    return undefined;
  }
  const lines = new LineCounter();
  const yaml = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    prettyErrors: false,
    // Not "silent", which would also be silent about a second document and ignore it.
    logLevel: "error",
  });
  for (const error of [...yaml.errors, ...yaml.warnings]) {
    const { line, col } = lines.linePos(error.pos[0]);
    problems.push({ file: name, line: Math.max(1, line), column: Math.max(1, col), message: error.message });
  }
  return yaml.errors.length + yaml.warnings.length > 0 ? undefined : { name, yaml, lines };
}

function place(problem: PolicyProblem, source: ParsedText): PolicyFileProblem {
  const { line, column } = position(problem.path, source);
  return {
    file: source.name,
    line,
    column,
    message: problem.message,
    ...(problem.ruleId === undefined ? {} : { ruleId: problem.ruleId }),
    ...(problem.expected === undefined ? {} : { expected: problem.expected }),
  };
}

/** The position of the deepest node that exists on the path. */
function position(path: readonly (string | number)[], source: ParsedText): { line: number; column: number } {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown =
      length === 0 ? source.yaml.contents : source.yaml.getIn(path.slice(0, length), true);
    if (!isNode(node) || node.range === undefined || node.range === null) continue;
    const { line, col } = source.lines.linePos(node.range[0]);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }
  return { line: 1, column: 1 };
}
