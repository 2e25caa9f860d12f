import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const PAGE = fileURLToPath(new URL("../../../docs/deployment.md", import.meta.url));

/** The commands that docs/deployment.md shows under a heading, as the text of a shell script. */
export async function commandsUnder(heading: string): Promise<string> {
  const section = (await readFile(PAGE, "utf8"))
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`));
  const blocks = [...(section ?? "").matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
  if (blocks.length === 0) throw new Error(`docs/deployment.md shows no commands under ${heading}`);
  return blocks.join("");
}
