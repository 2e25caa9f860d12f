import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createCommands } from "../../../src/main/cli-commands.js";
import { exitTable, shownCommands } from "../../support/cli-page.js";

const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");
const commands = createCommands();
const WITHOUT_JSON = ["all", "api", "worker", "mcp", "audit export", "completion"];

test("docs/cli.md has the exit statuses that the commands say", () => {
  expect(page.endsWith(exitTable(commands))).toBe(true);
});

test("docs/cli.md shows every command but those that serve", () => {
  const shown = shownCommands(page).map(({ line }) => line);
  for (const { name } of commands) {
    if (["all", "api", "worker", "mcp"].includes(name)) expect(page).toContain(`\`${name}\``);
    else
      expect(
        shown.some((line) => `${line} `.includes(`bailiff ${name} `)),
        name,
      ).toBe(true);
  }
});

test("every command takes --json, but those that docs/cli.md names", () => {
  expect(commands.filter(({ options }) => options["json"] === undefined).map(({ name }) => name)).toEqual(
    WITHOUT_JSON,
  );
  const named = `${WITHOUT_JSON.map((name) => `\`${name}\``).join(", ")}`.replace(/, ([^,]+)$/, " and $1");
  expect(page).toContain(`${named} have no \`--json\``);
});
