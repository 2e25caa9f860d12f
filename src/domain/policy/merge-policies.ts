import type { PolicyProblem } from "./compile-policy.js";
import type { PolicyDocument } from "./policy-document.js";

/** A place in one of several merged documents. */
export interface DocumentPlace {
  /** Index into the documents that were merged. */
  readonly file: number;
  readonly path: readonly (string | number)[];
}

/** Several documents as one; `locate` leads from a path in the merged document back to where it was written. */
export interface MergedPolicy {
  readonly document: PolicyDocument;
  readonly problems: readonly (PolicyProblem & { readonly file: number })[];
  locate(path: readonly (string | number)[]): DocumentPlace;
}

const LISTS = ["rules", "wrappers", "interpreters", "pattern_operands", "sinks"] as const;
const SETTINGS = [
  "sensitivity",
  "trust",
  "categories",
  "session_label",
  "unmapped_max_sensitivity",
  "network",
  "limits",
  "environment",
  "profiles",
  "executables",
] as const;

/**
 * Merges documents in order. The first one and those marked `base: true` may say anything: their lists add up and their settings
 * replace earlier ones. Every other document may only get stricter: it adds `ask` and `deny` rules, wrappers, interpreters and
 * untrusted sinks, or sets `default: deny`; anything else in it is a problem. `given` tells which keys each document wrote itself.
 */
export function mergePolicies(
  documents: readonly PolicyDocument[],
  given: readonly ReadonlySet<string>[],
): MergedPolicy | undefined {
  const [first, ...later] = documents;
  if (first === undefined) return undefined;
  const merged = structuredClone(first);
  const problems: (PolicyProblem & { file: number })[] = [];
  const listPlaces = new Map<string, { file: number; index: number }[]>();
  const settingFile = new Map<string, number>();
  for (const list of LISTS)
    listPlaces.set(
      list,
      first[list].map((_, index) => ({ file: 0, index })),
    );

  later.forEach((document, at) => {
    const file = at + 1;
    const keys = given[file] ?? new Set();
    const isBase = document.base === true;
    for (const list of LISTS) {
      document[list].forEach((_, index) => {
        listPlaces.get(list)?.push({ file, index });
      });
    }
    merged.rules.push(...document.rules);
    // What an entry takes for code is no path to containment: only a base file may say so.
    const placed = <T extends { readonly judged_as_paths: boolean }>(entries: readonly T[]): readonly T[] =>
      isBase ? entries : entries.map((entry) => ({ ...entry, judged_as_paths: true }));
    merged.wrappers.push(...placed(document.wrappers));
    merged.interpreters.push(...placed(document.interpreters));
    merged.pattern_operands.push(...document.pattern_operands);
    merged.sinks.push(...document.sinks);
    if (isBase) {
      for (const setting of [...SETTINGS, "default"] as const) {
        if (!keys.has(setting)) continue;
        Object.assign(merged, { [setting]: structuredClone(document[setting]) });
        settingFile.set(setting, file);
      }
      return;
    }
    const loosens = (path: readonly (string | number)[], what: string, ruleId?: string) =>
      problems.push({
        file,
        path,
        ...(ruleId === undefined ? {} : { ruleId }),
        message: `${what} in a file that may only get stricter`,
        expected:
          "ask and deny rules, wrappers, interpreters, untrusted sinks or `default: deny`; else mark the file `base: true`",
      });
    document.rules.forEach((rule, index) => {
      if (rule.decision === "allow") loosens(["rules", index, "decision"], "an allow rule", rule.id);
    });
    document.interpreters.forEach((interpreter, index) => {
      if (interpreter.plain_code.length > 0) loosens(["interpreters", index, "plain_code"], "plain code");
    });
    document.sinks.forEach((sink, index) => {
      if (sink.trust !== "untrusted") loosens(["sinks", index, "trust"], `a ${sink.trust} sink`);
    });
    if (document.pattern_operands.length > 0) loosens(["pattern_operands"], "operands that are not paths");
    for (const setting of SETTINGS) {
      if (keys.has(setting)) loosens([setting], `the setting ${setting}`);
    }
    if (keys.has("default")) {
      if (document.default === "deny") {
        merged.default = "deny";
        settingFile.set("default", file);
      } else if (merged.default === "deny") loosens(["default"], "a looser default");
    }
  });

  return {
    document: merged,
    problems,
    locate(path) {
      const [section, index, ...rest] = path;
      if (typeof index === "number") {
        const place = listPlaces.get(String(section))?.[index];
        if (place !== undefined) return { file: place.file, path: [section ?? "", place.index, ...rest] };
      }
      return { file: settingFile.get(String(section)) ?? 0, path };
    },
  };
}
