import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ScalingInputs } from "../../../bench/measure/scaling-model.js";
import { scalingPage } from "../../support/scaling-page.js";

const PAGE = fileURLToPath(new URL("../../../docs/scaling.md", import.meta.url));
const INPUTS = fileURLToPath(new URL("../../../bench/scaling-inputs.json", import.meta.url));

test("docs/scaling.md shows the inputs that the benchmark wrote and what follows from them by arithmetic", async () => {
  const inputs = JSON.parse(await readFile(INPUTS, "utf8")) as ScalingInputs;
  await expect(scalingPage(await readFile(PAGE, "utf8"), inputs)).toMatchFileSnapshot(PAGE);
});
