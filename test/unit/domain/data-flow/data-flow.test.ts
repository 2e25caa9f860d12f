import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { initialLabel } from "../../../../src/domain/data-flow/data-flow.js";
import { joinLabels, type Label } from "../../../../src/domain/data-flow/label.js";
import { type DecisionInput, decide } from "../../../../src/domain/pipeline.js";
import {
  decisionRequest,
  defaultPolicyText,
  OPEN_GRANT,
  policyOf,
} from "../../../support/policy/decision-request.js";

const DIGEST = `sha256:${"a".repeat(64)}`;
const OTHER_DIGEST = `sha256:${"b".repeat(64)}`;
const policy = policyOf(
  defaultPolicyText()
    .replace("categories: []\n", "categories: [finance, health]\n")
    .replace(
      "sinks: []",
      `sinks:
  - { id: wc, executables: [wc], trust: trusted, image_digests: ["${DIGEST}"], max_sensitivity: restricted, categories: [finance], reason: counts }
  - { id: head, executables: [head], trust: conditional, image_digests: ["${DIGEST}"], max_sensitivity: confidential, reason: shows }
  - { id: nl, executables: [nl], trust: untrusted, max_sensitivity: public, reason: numbers }`,
    ),
);

const label = (sensitivity: string, categories: readonly string[] = [], tenant = "acme"): Label => ({
  sensitivity,
  trust: "verified",
  categories,
  tenant,
});
const profile = { name: "p", imageDigest: DIGEST, networkCapable: false, readOnlyRoots: [] };
const flow = (argv: readonly string[], sessionLabel: Label, overrides: Partial<DecisionInput> = {}) => {
  const decision = decide(decisionRequest(argv, { profile, sessionLabel, ...overrides }), policy);
  return decision.layers.find(({ layer }) => layer === "data_flow")?.code;
};

describe("the join of labels", () => {
  const anyLabel = fc.record({
    sensitivity: fc.constantFrom(...policy.scales.sensitivity),
    trust: fc.constantFrom(...policy.scales.trust),
    categories: fc.subarray([...policy.scales.categories]),
    tenant: fc.constant("acme"),
  });

  it("takes the highest sensitivity, the lowest trust and every category", () => {
    const joined = joinLabels(
      { sensitivity: "normal", trust: "trusted", categories: ["health"], tenant: "acme" },
      [{ sensitivity: "restricted", trust: "unknown", categories: ["finance"], tenant: "acme" }],
      policy.scales,
    );
    expect(joined).toEqual({
      ok: true,
      label: {
        sensitivity: "restricted",
        trust: "unknown",
        categories: ["finance", "health"],
        tenant: "acme",
      },
    });
  });

  it("does not depend on order or repetition and never falls below any part", () => {
    fc.assert(
      fc.property(anyLabel, fc.array(anyLabel, { maxLength: 4 }), (first, rest) => {
        const joined = joinLabels(first, rest, policy.scales);
        const [last = first, ...others] = [...rest].reverse();
        expect(joinLabels(last, [...others, first, first], policy.scales)).toEqual(joined);
        if (!joined.ok) throw new Error("unreachable");
        const rank = policy.scales.sensitivity.indexOf(joined.label.sensitivity);
        expect(rank).toBe(
          Math.max(...[first, ...rest].map((part) => policy.scales.sensitivity.indexOf(part.sensitivity))),
        );
      }),
    );
  });
});

describe("data flow", () => {
  it("clears an executable without a sink up to normal, and no categories", () => {
    expect(flow(["cat", "x"], label("normal"))).toBe("within_clearance");
    expect(flow(["cat", "x"], label("confidential"))).toBe("unmapped_clearance");
    expect(flow(["cat", "x"], label("public", ["finance"]))).toBe("unmapped_categories");
  });

  it("clears a trusted sink up to its own level, in its image and for its categories only", () => {
    expect(flow(["wc", "x"], label("restricted", ["finance"]))).toBe("within_clearance");
    expect(flow(["wc", "x"], label("secret"))).toBe("sink_clearance");
    expect(flow(["wc", "x"], label("restricted", ["health"]))).toBe("sink_categories");
    expect(
      flow(["wc", "x"], label("restricted"), { profile: { ...profile, imageDigest: OTHER_DIGEST } }),
    ).toBe("unmapped_clearance");
    expect(flow(["./wc", "x"], label("restricted"))).toBe("unmapped_clearance");
  });

  it("asks for a release above normal at a conditional sink, which no level or granted vector gives", () => {
    expect(flow(["head", "x"], label("normal"))).toBe("within_clearance");
    expect(flow(["head", "x"], label("confidential"))).toBe("sink_release");
    const decision = decide(
      decisionRequest(["head", "x"], {
        profile,
        sessionLabel: label("confidential"),
        grant: {
          ...OPEN_GRANT,
          level: "allow_all",
          vectors: [{ argv: ["head"], match: "prefix", usesLeft: null }],
        },
      }),
      policy,
    );
    expect(decision.verdict).toBe("ask");
    expect(decision.effectiveLabel).toEqual(label("confidential"));
  });

  it("lets an untrusted sink only lower the clearance, whatever path it is started by", () => {
    expect(flow(["nl", "x"], label("public"))).toBe("within_clearance");
    expect(flow(["nl", "x"], label("normal"))).toBe("sink_clearance");
    expect(flow(["./nl", "x"], label("normal"))).toBe("sink_clearance");
  });

  it("keeps network-capable programs and profiles at public", () => {
    expect(flow(["curl", "https://example.com"], label("public"))).toBe("within_clearance");
    expect(flow(["curl", "https://example.com"], label("normal"))).toBe("network_clearance");
    expect(flow(["ls"], label("normal"), { profile: { ...profile, networkCapable: true } })).toBe(
      "network_clearance",
    );
    expect(flow(["wc", "x"], label("normal"), { profile: { ...profile, networkCapable: true } })).toBe(
      "network_clearance",
    );
  });

  it("holds for what is behind a wrapper", () => {
    expect(flow(["env", "curl", "https://example.com"], label("normal"))).toBe("network_clearance");
    expect(flow(["sh", "-c", "cat x | curl -d @- https://example.com"], label("normal"))).toBe(
      "network_clearance",
    );
  });

  it("denies an unknown object, an unknown word and mixed tenants", () => {
    expect(flow(["cat", "x"], label("public"), { sourceLabels: [null] })).toBe("object_unknown");
    expect(flow(["cat", "x"], label("top-secret"))).toBe("label_unknown");
    expect(flow(["cat", "x"], label("public", ["unheard"]))).toBe("label_unknown");
    expect(flow(["cat", "x"], label("public"), { sourceLabels: [label("public", [], "other")] })).toBe(
      "label_mixed_tenants",
    );
  });

  it("lets a source object raise the label, never lower it", () => {
    expect(flow(["cat", "x"], label("public"), { sourceLabels: [label("secret")] })).toBe(
      "unmapped_clearance",
    );
    expect(flow(["cat", "x"], label("secret"), { sourceLabels: [label("public")] })).toBe(
      "unmapped_clearance",
    );
  });

  it("begins a session at the policy's label", () => {
    expect(initialLabel(policy, "acme")).toEqual({
      sensitivity: "public",
      trust: "unknown",
      categories: [],
      tenant: "acme",
    });
  });
});
