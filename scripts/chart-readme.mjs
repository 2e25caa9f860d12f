import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { root } from "./setup/paths.mjs";

const chart = join(root, "helm", "bailiff");

/**
 * The values of a chart in the order of its values.yaml: path, default and the comment that begins with `# --`.
 * Throws for a value without one, unless a comment stands at a key above it.
 */
export function describedValues(text) {
  const defaults = parse(text);
  const described = [];
  const above = [];
  let comment = null;
  for (const line of text.split("\n")) {
    const [, indent, words] = /^( *)# ?(.*)$/.exec(line) ?? [];
    if (words !== undefined) {
      if (words.startsWith("-- ")) comment = words.slice(3);
      else if (comment !== null && indent !== undefined) comment += ` ${words}`;
      continue;
    }
    const key = /^( *)([A-Za-z_]+):(?: |$)/.exec(line);
    if (key === null) {
      comment = null;
      continue;
    }
    const depth = key[1].length / 2;
    // Inside a value that is described as a whole, such as a list.
    if (above.slice(0, depth).some((parent) => parent?.isDescribed)) continue;
    above.length = depth;
    above.push({ name: key[2], isDescribed: comment !== null });
    const path = above.map(({ name }) => name);
    const value = path.reduce((node, name) => node?.[name], defaults);
    if (comment !== null) described.push({ path: path.join("."), value, comment });
    else if (value === null || typeof value !== "object" || Object.keys(value).length === 0)
      throw new Error(`values.yaml says nothing of ${path.join(".")}`);
    comment = null;
  }
  return described;
}

/** The chart's README: what is between its markers is made from its values. */
export function chartReadme(page, valuesText) {
  const rows = describedValues(valuesText).map(({ path, value, comment }) => {
    const fallback = JSON.stringify(value ?? null).replaceAll("|", "\\|");
    return `| \`${path}\` | \`${fallback}\` | ${comment.replaceAll("|", "\\|")} |`;
  });
  const table = ["| value | default | meaning |", "| --- | --- | --- |", ...rows].join("\n");
  return page.replace(
    /(<!-- values -->\n)[\s\S]*?(\n<!-- end of values -->)/,
    (_, begin, end) => `${begin}\n${table}\n${end}`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const page = join(chart, "README.md");
  await writeFile(
    page,
    chartReadme(await readFile(page, "utf8"), await readFile(join(chart, "values.yaml"), "utf8")),
  );
}
