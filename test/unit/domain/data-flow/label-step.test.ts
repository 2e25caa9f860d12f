import fc from "fast-check";
import { expect, test } from "vitest";
import { joinLabels, type Label, labelStep } from "../../../../src/domain/data-flow/label.js";

const SCALES = {
  sensitivity: ["public", "normal", "secret"],
  trust: ["untrusted", "unknown", "trusted"],
  categories: ["health", "pii"],
};
const label = (sensitivity: string, trust: string, categories: readonly string[] = []): Label => ({
  sensitivity,
  trust,
  categories,
  tenant: "acme",
});
const anyLabel = fc
  .record({
    sensitivity: fc.constantFrom(...SCALES.sensitivity),
    trust: fc.constantFrom(...SCALES.trust),
    categories: fc.subarray(SCALES.categories),
  })
  .map(({ sensitivity, trust, categories }) => label(sensitivity, trust, categories));

test.each([
  ["same", label("normal", "unknown", ["pii"]), label("normal", "unknown", ["pii"])],
  ["up", label("normal", "unknown"), label("secret", "unknown")],
  ["up", label("normal", "unknown"), label("normal", "untrusted")],
  ["up", label("normal", "unknown"), label("normal", "unknown", ["pii"])],
  ["down", label("normal", "unknown"), label("public", "unknown")],
  ["down", label("normal", "unknown"), label("normal", "trusted")],
  ["down", label("normal", "unknown", ["pii"]), label("normal", "unknown")],
  // Up in one part does not pay for another.
  ["down", label("normal", "unknown"), label("secret", "trusted")],
  ["down", label("normal", "unknown", ["pii"]), label("secret", "unknown", ["health"])],
  ["unknown", label("gone", "unknown"), label("secret", "unknown")],
  ["unknown", label("normal", "unknown"), { ...label("secret", "unknown"), tenant: "other" }],
])("a step %s", (step, from, to) => {
  expect(labelStep(from, to, SCALES)).toBe(step);
});

test("a join is never a step down from any of its parts, and never two ways up at once", () => {
  fc.assert(
    fc.property(anyLabel, anyLabel, (one, other) => {
      const joined = joinLabels(one, [other], SCALES);
      if (!joined.ok) throw new Error(joined.code);
      for (const part of [one, other]) expect(labelStep(part, joined.label, SCALES)).toMatch(/^(?:same|up)$/);
      if (labelStep(one, other, SCALES) === "up") expect(labelStep(other, one, SCALES)).toBe("down");
    }),
  );
});
