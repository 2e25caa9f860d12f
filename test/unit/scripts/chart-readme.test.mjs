import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { chartReadme, describedValues } from "../../../scripts/chart-readme.mjs";

const CHART = fileURLToPath(new URL("../../../helm/bailiff", import.meta.url));

test("the chart's README lists the values that values.yaml has", async () => {
  const page = await readFile(`${CHART}/README.md`, "utf8");
  const values = await readFile(`${CHART}/values.yaml`, "utf8");
  expect(chartReadme(page, values)).toBe(page);
});

test("a value that nothing is said of is refused", () => {
  expect(() => describedValues("# -- One.\na: 1\nb: 2\n")).toThrow(/says nothing of b/);
});

test("values inside a described one are described by it", () => {
  const text = "a:\n  # -- Two\n  # lines.\n  b:\n    c: 1\n# No description.\nd:\n  # -- Three.\n  e: x\n";
  expect(describedValues(text)).toEqual([
    { path: "a.b", value: { c: 1 }, comment: "Two lines." },
    { path: "d.e", value: "x", comment: "Three." },
  ]);
});
