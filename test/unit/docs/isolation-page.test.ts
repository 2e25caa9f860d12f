import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ESCAPE_MATRIX, escapeTable } from "../../support/escape/escape-matrix.js";

test("docs/isolation.md shows what the attempts to get out come to as the escape tests have it", async () => {
  const page = await readFile(new URL("../../../docs/isolation.md", import.meta.url), "utf8");
  expect(page).toContain(`\n\n${escapeTable(ESCAPE_MATRIX)}\n`);
});
