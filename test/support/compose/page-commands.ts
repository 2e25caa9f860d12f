import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** A page whose commands the tests run. */
export type CommandPage = "deployment" | "operations";

/** The commands that a page of docs shows under a heading, as the text of a shell script. */
export async function commandsUnder(page: CommandPage, heading: string): Promise<string> {
  const path = fileURLToPath(new URL(`../../../docs/${page}.md`, import.meta.url));
  const section = (await readFile(path, "utf8"))
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`));
  const blocks = [...(section ?? "").matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
  if (blocks.length === 0) throw new Error(`docs/${page}.md shows no commands under ${heading}`);
  return blocks.join("");
}
