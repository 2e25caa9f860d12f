import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const folder = new URL("../../../../src/adapters/redis/scripts/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".lua"));
const textOf = (name: string) => readFileSync(new URL(name, folder), "utf8");

/** Names that `local a, b = KEYS[1], KEYS[2]` gives to keys. */
function keyNames(text: string): string[] {
  return [...text.matchAll(/^local ([a-z_, ]+) = KEYS\[/gm)].flatMap((match) => (match[1] ?? "").split(", "));
}

describe("the scripts", () => {
  it.each(names)("%s touches no key that was not passed to it", (name) => {
    const shared = textOf("shared.lua");
    const known = new Set([...keyNames(textOf(name)), ...keyNames(shared), "KEYS[1]"]);
    const calls = [...textOf(name).matchAll(/redis\.call\('([A-Z]+)', ([^,)]+)/g)];
    for (const [, command, key = ""] of calls) {
      if (command === "PUBLISH") continue;
      expect(known, `${command} ${key}`).toContain(key.trim());
    }
  });

  it.each(names)("%s begins by saying what it does", (name) => {
    expect(textOf(name)).toMatch(/^-- [A-Z`]/);
  });
});
