import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** Builds the console to dist/console, from where the API serves it under /console. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/console/",
  publicDir: false,
  build: {
    outDir: "../dist/console",
    emptyOutDir: true,
    target: "es2023",
    // Everything is a file of its own: the page's policy takes nothing inline.
    assetsInlineLimit: 0,
    modulePreload: false,
  },
});
