import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { METRIC_TABLE } from "../../../src/adapters/telemetry/metric-table.js";
import { reliabilityPage } from "../../support/reliability-page.js";

const PAGE = fileURLToPath(new URL("../../../docs/reliability.md", import.meta.url));

test("docs/reliability.md shows the life cycle and the crash matrix as the code and the crash tests have them", async () => {
  await expect(reliabilityPage(await readFile(PAGE, "utf8"))).toMatchFileSnapshot(PAGE);
});

test("every metric that docs/reliability.md names exists", async () => {
  const named = new Set((await readFile(PAGE, "utf8")).match(/bailiff_[a-z_]+/g));
  expect([...named].filter((name) => METRIC_TABLE[name] === undefined)).toEqual([]);
  expect(named.size).toBeGreaterThan(10);
});
