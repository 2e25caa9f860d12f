import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const sources = fileURLToPath(new URL("../../images/init", import.meta.url));

/** The builds of bailiff-init that every property of it must hold for: [name, path]. */
export const initBinaries: [string, string][] = [
  ["as shipped", `${sources}/build/bailiff-init`],
  ["under sanitizers", `${sources}/build/bailiff-init-asan`],
];

/** Builds all of `initBinaries`; test files that run at once wait for each other. */
export async function buildInitBinaries(): Promise<void> {
  await promisify(execFile)("flock", [`${sources}/Makefile`, "make", "-C", sources, "all", "asan"]);
}
