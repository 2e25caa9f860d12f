/** What is known about the data a command may carry. */
export interface Label {
  /** One of the policy's ordered sensitivities. */
  readonly sensitivity: string;
  /** One of the policy's ordered trusts. */
  readonly trust: string;
  /** Sorted, without duplicates. */
  readonly categories: readonly string[];
  /** The tenant the data belongs to. */
  readonly tenant: string;
}

/** The ordered scales and the known categories of a policy, lowest first. */
export interface LabelScales {
  readonly sensitivity: readonly string[];
  readonly trust: readonly string[];
  readonly categories: readonly string[];
}

/** A joined label, or the reason why labels do not join. */
export type LabelJoin =
  | { readonly ok: true; readonly label: Label }
  | { readonly ok: false; readonly code: "label_unknown" | "label_mixed_tenants"; readonly reason: string };

/** What raising a label to another one is: a step up (or none), a step down somewhere, or not to be said. */
export type LabelStep = "same" | "up" | "down" | "unknown";

/** Whether every part of the label stays or rises: sensitivity up, trust down, categories more. `unknown` with words the policy does not define. */
export function labelStep(from: Label, to: Label, scales: LabelScales): LabelStep {
  const joined = joinLabels(from, [to], scales);
  if (!joined.ok) return "unknown";
  if (!sameLabel(joined.label, to)) return "down";
  return sameLabel(from, to) ? "same" : "up";
}

/** Whether two labels say the same; their categories are sorted. */
function sameLabel(one: Label, other: Label): boolean {
  return (
    one.sensitivity === other.sensitivity &&
    one.trust === other.trust &&
    one.tenant === other.tenant &&
    one.categories.length === other.categories.length &&
    one.categories.every((category, i) => category === other.categories[i])
  );
}

/** Joins labels: highest sensitivity, lowest trust, union of categories; never across tenants, never with unknown words. */
export function joinLabels(first: Label, rest: readonly Label[], scales: LabelScales): LabelJoin {
  let sensitivity = -1;
  let trust = scales.trust.length;
  const categories = new Set<string>();
  for (const label of [first, ...rest]) {
    if (label.tenant !== first.tenant) {
      return { ok: false, code: "label_mixed_tenants", reason: "the labels belong to different tenants" };
    }
    const sensitivityRank = scales.sensitivity.indexOf(label.sensitivity);
    const trustRank = scales.trust.indexOf(label.trust);
    if (
      sensitivityRank < 0 ||
      trustRank < 0 ||
      !label.categories.every((c) => scales.categories.includes(c))
    ) {
      return { ok: false, code: "label_unknown", reason: "a label uses a word the policy does not define" };
    }
    sensitivity = Math.max(sensitivity, sensitivityRank);
    trust = Math.min(trust, trustRank);
    for (const category of label.categories) categories.add(category);
  }
  return {
    ok: true,
    label: {
      sensitivity: scales.sensitivity[sensitivity] ?? "",
      trust: scales.trust[trust] ?? "",
      categories: [...categories].sort(),
      tenant: first.tenant,
    },
  };
}
