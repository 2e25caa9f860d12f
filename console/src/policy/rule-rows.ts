/** One rule of the policy, as far as a reader has to know it. */
export interface RuleRow {
  readonly id: string;
  readonly decision: string;
  /** The pattern's tokens, each as a reader would write it down. */
  readonly pattern: readonly string[];
  readonly isExact: boolean;
  /** Conditions beyond the pattern, in words. */
  readonly conditions: readonly string[];
  readonly reason: string;
}

/** What the document says in all. */
export interface PolicySummary {
  readonly fallback: string;
  readonly rules: readonly RuleRow[];
  /** How many entries each other section has. */
  readonly sections: readonly (readonly [string, number])[];
}

/** Reads a policy document for people. The service has checked it; what is not as expected here is left out, never guessed. */
export function summarizePolicy(document: unknown): PolicySummary {
  const policy = isRecord(document) ? document : {};
  const rules = Array.isArray(policy["rules"]) ? policy["rules"].filter(isRecord).map(ruleRow) : [];
  const sections = Object.entries(policy)
    .filter(([name]) => name !== "rules")
    .map(([name, value]) => [name, sizeOf(value)] as const)
    .filter(([, size]) => size > 0);
  return { fallback: String(policy["default"] ?? "ask"), rules, sections };
}

/** The rules in which every word of a search is found. */
export function findRules(rules: readonly RuleRow[], search: string): readonly RuleRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rules.filter((rule) => {
    const text = [rule.id, rule.decision, ...rule.pattern, ...rule.conditions, rule.reason]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function ruleRow(rule: Readonly<Record<string, unknown>>): RuleRow {
  const options = isRecord(rule["options"]) ? rule["options"] : {};
  const conditions = [
    listed("with", options["any"]),
    listed("without", options["none"]),
    listed("with a token", rule["tokens_any"]),
    listed("without a token", rule["tokens_none"]),
    typeof rule["max_operands"] === "number" ? `at most ${rule["max_operands"]} operands` : null,
  ].filter((each) => each !== null);
  return {
    id: String(rule["id"] ?? ""),
    decision: String(rule["decision"] ?? ""),
    pattern: Array.isArray(rule["pattern"]) ? rule["pattern"].map(tokenText) : [],
    isExact: rule["exact"] === true,
    conditions,
    reason: String(rule["reason"] ?? ""),
  };
}

function tokenText(token: unknown): string {
  if (typeof token === "string") return token;
  if (Array.isArray(token)) return token.map(tokenText).join(" | ");
  if (isRecord(token) && typeof token["glob"] === "string") return token["glob"];
  if (isRecord(token) && typeof token["chars"] === "string") return `[${token["chars"]}]+`;
  return "?";
}

function listed(words: string, tokens: unknown): string | null {
  return Array.isArray(tokens) && tokens.length > 0 ? `${words} ${tokens.map(tokenText).join(" | ")}` : null;
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isRecord(value) ? Object.keys(value).length : 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
