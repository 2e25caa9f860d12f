import { cp } from "node:fs/promises";
import { extname, join } from "node:path";
import { root } from "./setup/paths.mjs";

/** Files beside the sources that the compiler doesn't know but the program reads. */
const extensions = new Set([".lua", ".json", ".html", ".css", ".svg", ".yaml"]);

await cp(join(root, "src"), join(root, "dist"), {
  recursive: true,
  filter: (source) => extname(source) === "" || extensions.has(extname(source)),
});
