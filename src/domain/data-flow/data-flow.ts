import type { LayerVerdict } from "../decision/decision.js";
import type { CompiledPolicy } from "../policy/compiled-policy.js";
import { looseName, strictName } from "../policy/executable-name.js";
import { lookUpName } from "../policy/name-table.js";
import type { PolicySink } from "../policy/policy-document.js";
import { joinLabels, type Label } from "./label.js";

/** What the data-flow layer needs of a request. */
export interface DataFlowInput {
  readonly vectors: readonly { readonly argv: readonly string[] }[];
  readonly profile: { readonly imageDigest: string; readonly networkCapable: boolean };
  readonly sessionLabel: Label;
  /** Labels of the source objects the caller named; null stands for one that does not exist in the tenant. */
  readonly sourceLabels: readonly (Label | null)[];
}

/** The layer's answer and the joined label, when there is one. */
export interface DataFlowAnswer {
  readonly verdict: LayerVerdict;
  readonly label?: Label;
}

interface Clearance {
  readonly verdict: "pass" | "ask" | "deny";
  readonly code: string;
  readonly reason: string;
}

/** The label a session of the tenant begins with. */
export function initialLabel(policy: CompiledPolicy, tenant: string): Label {
  const { sensitivity, trust, categories } = policy.document.session_label;
  return { sensitivity, trust, categories: [...categories].sort(), tenant };
}

/** Joins the labels and holds the result against the clearance of every executable the request would start. */
export function dataFlowVerdict(input: DataFlowInput, policy: CompiledPolicy): DataFlowAnswer {
  const known: Label[] = [];
  for (const label of input.sourceLabels) {
    if (label === null) return { verdict: verdict("deny", "object_unknown", "a source object is not known") };
    known.push(label);
  }
  const joined = joinLabels(input.sessionLabel, known, policy.scales);
  if (!joined.ok) return { verdict: verdict("deny", joined.code, joined.reason) };
  const { label } = joined;

  let strictest: LayerVerdict = verdict(
    "pass",
    "within_clearance",
    "the label is within the clearance of every sink",
  );
  for (const [index, vector] of input.vectors.entries()) {
    const clearance = clear(label, vector.argv[0] ?? "", input, policy);
    if (clearance.verdict === "pass" || strictest.verdict === clearance.verdict) continue;
    strictest = {
      ...verdict(clearance.verdict, clearance.code, clearance.reason),
      ...(index === 0 ? {} : { vector: vector.argv }),
    };
    if (clearance.verdict === "deny") break;
  }
  return { verdict: strictest, label };
}

/** Every statement about the executable must clear the label: its sinks, the network programs and the profile. */
function clear(label: Label, argv0: string, input: DataFlowInput, policy: CompiledPolicy): Clearance {
  const loose = looseName(argv0);
  const { document } = policy;
  const listed = lookUpName(policy.sinks, loose);
  // A path that only looks like the name can lower a clearance, never borrow one.
  const named = strictName(argv0, policy.nameByPath)?.toLowerCase() === loose;
  const sinks = listed.filter(
    (sink) => sink.trust === "untrusted" || (named && sink.image_digests.includes(input.profile.imageDigest)),
  );

  const isNetwork =
    input.profile.networkCapable ||
    lookUpName(policy.networkExecutables, loose).length > 0 ||
    sinks.some((sink) => sink.network);
  if (isNetwork && !within(label.sensitivity, document.network.max_sensitivity, policy)) {
    return {
      verdict: "deny",
      code: "network_clearance",
      reason: "the label is above what may reach the network",
    };
  }
  if (sinks.length === 0) return clearUnmapped(label, policy);
  let result: Clearance = {
    verdict: "pass",
    code: "within_clearance",
    reason: "the label is within the sink's clearance",
  };
  for (const sink of sinks) {
    const clearance = clearSink(label, sink, policy);
    if (clearance.verdict === "deny") return clearance;
    if (clearance.verdict === "ask") result = clearance;
  }
  return result;
}

function clearUnmapped(label: Label, policy: CompiledPolicy): Clearance {
  if (!within(label.sensitivity, policy.document.unmapped_max_sensitivity, policy)) {
    return {
      verdict: "deny",
      code: "unmapped_clearance",
      reason: "the label is above what an executable without a sink may see",
    };
  }
  if (label.categories.length > 0) {
    return {
      verdict: "deny",
      code: "unmapped_categories",
      reason: "labelled categories need a sink that names them",
    };
  }
  return { verdict: "pass", code: "within_clearance", reason: "the label is within the default clearance" };
}

function clearSink(label: Label, sink: PolicySink, policy: CompiledPolicy): Clearance {
  if (!label.categories.every((category) => sink.categories.includes(category))) {
    return {
      verdict: "deny",
      code: "sink_categories",
      reason: "the sink does not take all of the label's categories",
    };
  }
  if (!within(label.sensitivity, sink.max_sensitivity, policy)) {
    return { verdict: "deny", code: "sink_clearance", reason: "the label is above the sink's clearance" };
  }
  if (
    sink.trust === "conditional" &&
    !within(label.sensitivity, policy.document.unmapped_max_sensitivity, policy)
  ) {
    return {
      verdict: "ask",
      code: "sink_release",
      reason: "the sink takes this label only with a person's single-use release",
    };
  }
  return { verdict: "pass", code: "within_clearance", reason: "the label is within the sink's clearance" };
}

function within(sensitivity: string, clearance: string, policy: CompiledPolicy): boolean {
  const order = policy.scales.sensitivity;
  const rank = order.indexOf(sensitivity);
  return rank >= 0 && rank <= order.indexOf(clearance);
}

function verdict(kind: "pass" | "ask" | "deny", code: string, reason: string): LayerVerdict {
  return { layer: "data_flow", verdict: kind, code, reason };
}
